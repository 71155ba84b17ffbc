import type { FC } from "hono/jsx";
import type { Fault, FaultKind } from "./faults.ts";

const wording: Readonly<Record<FaultKind, string>> = {
  hang: "never answers",
  reset_before_reading: "drops the connection at once",
  reset: "drops the connection after reading",
  error_500: "answers 500",
  bad_gateway: "answers a 502 page",
  not_json: "answers half a JSON text",
  slow: "answers after two seconds",
  flood: "asks to wait 5 seconds (429)",
  flood_unsaid: "asks to wait without saying how long",
  kick: "throws the bot out",
  migrate: "turns the group into a supergroup",
};

/** Lets a person break the next request to the chat they look at. */
export const FaultForm: FC<{ chatId: string; pending: readonly Fault[] }> = ({ chatId, pending }) => (
  <section class="faults" aria-label="Break something">
    <h2>Break the next request</h2>
    <form method="post" action="/faults">
      <input type="hidden" name="chat" value={chatId} />
      <label>
        What happens
        <select name="kind">
          {Object.entries(wording).map(([kind, words]) => (
            <option value={kind}>{words}</option>
          ))}
        </select>
      </label>
      <label class="check">
        <input type="checkbox" name="delivered" /> the message arrives all the same
      </label>
      <button type="submit">Break it</button>
    </form>
    <div id="pending" data-live>
      {pending.length > 0 && (
        <form method="post" action="/faults/clear">
          <p>Waiting: {pending.map(({ kind }) => wording[kind]).join("; ")}</p>
          <button type="submit">Forget them</button>
        </form>
      )}
    </div>
  </section>
);
