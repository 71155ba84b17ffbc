import type { AlertDetail } from "../../core/ports/alert-log.ts";
import { printJson } from "../print-json.ts";
import type { ComposedMessage } from "../web-deps.ts";
import { LongBox } from "./long-box.tsx";

/** Messages that were made of the alert, equal texts once. */
export function MessageList({ alert, messages }: { alert: AlertDetail; messages: ComposedMessage[] }) {
  const sent = messages.filter(({ texts }) => texts.length > 0);
  if (sent.length === 0)
    return <p class="soft">{alert.deliveries.length === 0 ? "None: it went nowhere." : "None."}</p>;
  const byText = new Map<string, ComposedMessage[]>();
  for (const message of sent) {
    const key = message.texts.join("\u0000");
    byText.set(key, [...(byText.get(key) ?? []), message]);
  }
  return (
    <>
      <p class="soft">Preview: rebuilt from the stored alert, without delay notes, earlier messages and digests.</p>
      {[...byText.values()].map((same, index) => (
        <details class="message" open={index === 0}>
          <summary>
            {same.map(({ destination, channel, inDigest }, at) => (
              <>
                {at > 0 && ", "}
                <bdi>{destination}</bdi> <span class="soft">{inDigest ? `${channel}, in a digest` : channel}</span>
              </>
            ))}
          </summary>
          {same[0]?.texts.map(layOut).map((text, part, parts) => (
            <>
              {parts.length > 1 && (
                <p class="soft">
                  Part {part + 1} of {parts.length}
                </p>
              )}
              <LongBox name={`message ${index + 1}${parts.length > 1 ? ` part ${part + 1}` : ""}`} text={text}>
                <pre dir="auto">{`\n${text}`}</pre>
              </LongBox>
            </>
          ))}
        </details>
      ))}
    </>
  );
}

/** What is sent as JSON goes as one line, in which nobody finds anything. */
function layOut(text: string): string {
  return text.startsWith("{") ? (printJson(text)?.text ?? text) : text;
}
