import type { SharedAllowances } from "../../core/ports/shared.ts";
import type { Database } from "./database.ts";
import { toText } from "./texts.ts";

export function createAllowances(database: Pick<Database, "single">): SharedAllowances {
  return {
    async useAllowances(allowances) {
      const { rows } = await database.single.query<{ waits: number[] }>(
        "SELECT use_allowances($1, $2, $3) AS waits",
        [
          allowances.map(({ name }) => toText(name)),
          allowances.map(({ burst }) => burst),
          allowances.map(({ intervalMs }) => intervalMs),
        ],
        "use_allowances",
      );
      return (rows[0]?.waits ?? []).map((ms) => Math.max(0, Math.ceil(ms)));
    },
  };
}
