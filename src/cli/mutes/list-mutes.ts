import { describeMatchers } from "../../matching/describe-match.ts";
import { openAlertLog } from "../relay/alert-log.ts";
import type { RelayRun } from "../relay/connect-relay.ts";
import { toSeconds, withAge } from "../shell/age.ts";

/** `tocsin mutes list`. */
export async function listMutes(run: RelayRun, includeEnded: boolean): Promise<void> {
  const { output, context } = run;
  const log = await openAlertLog(run);
  try {
    const mutes = await log.listMutes(includeEnded);
    await output.result(mutes, () => {
      if (mutes.length === 0) return includeEnded ? "Nothing has been muted yet.\n" : "Nothing is muted.\n";
      const columns = [
        { title: "state", keep: true },
        { title: "silences", keep: true },
        { title: "until (UTC)", keep: true },
        { title: "reason", keep: true },
        { title: "by" },
        { title: "id", keep: true },
      ];
      const rows = mutes.map((mute) => [
        mute.state,
        describeMatchers(mute.matchers),
        mute.state === "coming" ? `from ${toSeconds(mute.startsAt)}` : withAge(mute.endsAt, context.now()),
        mute.reason,
        mute.createdBy,
        mute.id,
      ]);
      return output.table(columns, rows);
    });
  } finally {
    await log.close();
  }
}
