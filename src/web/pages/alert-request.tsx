import type { AlertDetail } from "../../core/ports/alert-log.ts";
import { type ShownBody, showBody } from "../body-text.ts";
import { Instant } from "./instants.tsx";
import { CodeBlock } from "./layout.tsx";
import { LongBox } from "./long-box.tsx";

const formWords: Record<ShownBody["form"], string> = {
  json: "JSON, laid out; every digit as it was sent",
  text: "text, as it was sent",
  bytes: "bytes",
  empty: "",
};

/** The request as received in. */
export function RawRequest({ alert, now }: { alert: AlertDetail; now: number }) {
  const { request } = alert;
  if (request === undefined) return <p class="soft">Tocsin wrote this itself; no request brought it.</p>;
  const body = showBody(request.body);
  return (
    <>
      <ul class="notes">
        {request.items > 1 && (
          <li>
            One request brought {request.items} alerts; this is number {request.item + 1}. Headers and body are those of
            all of them.
          </li>
        )}
        {alert.repeatOf !== undefined && (
          <li>
            Byte for byte the body of <a href={`/alerts/${alert.repeatOf}`}>an earlier alert</a>.
          </li>
        )}
        {request.duplicates > 0 && (
          <li>
            {request.duplicates === 1
              ? "Sent once more by the sender"
              : `Sent ${request.duplicates} more times by the sender`}
            : recognised as the same and not sent again.
          </li>
        )}
        {request.conflict && (
          <li class="bad">
            The sender had used the same key <code>{request.dedupeKey}</code> for another body before. Both are kept.
          </li>
        )}
      </ul>
      <h3>
        Body <span class="soft">{sizeWords(request.body.length)}</span>
      </h3>
      {body.form === "empty" ? (
        <p class="soft">The body was empty.</p>
      ) : (
        <>
          <div class="row">
            <span class="soft">{formWords[body.form]}</span>
            <button type="button" data-copy="body" hidden>
              Copy
            </button>
            <a href={`/alerts/${alert.id}/body`}>Download as received</a>
          </div>
          <LongBox name="the body" text={body.text}>
            <CodeBlock id="body" text={body.text} isBytes={body.form === "bytes"} />
          </LongBox>
          {body.isCut && <p class="soft">This is the beginning; the download has all of it.</p>}
        </>
      )}
      <details>
        <summary>
          {request.headers.length} {request.headers.length === 1 ? "header" : "headers"}, received{" "}
          <Instant at={request.receivedAt} now={now} />
        </summary>
        <dl class="facts">
          {request.headers.map(([name, value]) => (
            <>
              <dt>{name}</dt>
              <dd dir="auto">{value}</dd>
            </>
          ))}
        </dl>
      </details>
    </>
  );
}

function sizeWords(bytes: number): string {
  if (bytes < 1024) return `${bytes} ${bytes === 1 ? "byte" : "bytes"}`;
  return bytes < 1024 * 1024 ? `${(bytes / 1024).toFixed(1)} KiB` : `${(bytes / 1024 / 1024).toFixed(2)} MiB`;
}
