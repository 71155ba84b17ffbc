import { type RelayStatus as ShownStatus, statusPanel } from "../../contract/panels/status.ts";
import { readVersion } from "../../ground/version.ts";
import type { RelayRun } from "../relay/connect-relay.ts";
import { fromWire } from "../relay/from-wire.ts";
import { drawPanel } from "../shell/draw-panel.ts";
import { readStatus } from "./read-status.ts";

/** Prints the status; exit status 1 unless the relay runs and is ready. */
export async function showStatus(run: RelayRun): Promise<void> {
  const version = readVersion();
  const { output, context } = run;
  const status = await readStatus(run);
  const hook = `${status.publicUrl ?? status.url}/hooks/***`;
  const shown = { version, hook, ...status };
  await output.result(shown, () => drawPanel(statusPanel(fromWire<ShownStatus>(shown)), output, context.now()));
  if (!status.ready) context.setExitStatus(1);
}
