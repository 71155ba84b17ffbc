import { AppError } from "./errors.ts";
import type { AlertDetail, AlertLog } from "./ports/alert-log.ts";

/** @throws AppError `not_found`. */
export async function findAlert(store: Pick<AlertLog, "getAlert">, id: string): Promise<AlertDetail> {
  const alert = await store.getAlert(id);
  if (alert) return alert;
  throw new AppError("not_found", `There is no alert ${id}.`, {
    hint: "Its id may be cut, or it is older than what is kept.",
  });
}
