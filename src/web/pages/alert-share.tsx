import type { AlertDetail } from "../../core/ports/alert-log.ts";

/** How others get at it: its address, all of it as one file, and the same from a terminal. */
export function ShareAlert({ alert, publicUrl }: { alert: AlertDetail; publicUrl: string }) {
  const address = `${publicUrl}/alerts/${alert.id}`;
  const evidence = `curl -fsS -H "Authorization: Bearer $ADMIN_TOKEN" '${publicUrl}/api/alerts/${alert.id}/evidence' -o '${alert.id}.json'`;
  const again = `curl -fsS -X POST --data-binary '@${alert.id}.txt'${contentTypeOf(alert)} "$HOOK_URL"`;
  return (
    <>
      <Line id="permalink" label="Address of this page" text={address} />
      <p>
        <a href={`/alerts/${alert.id}/evidence`} download={`${alert.id}.json`}>
          Download the evidence
        </a>{" "}
        <span class="soft">
          One JSON file: the request, what was read and decided, each attempt, the messages, the key's history, and the
          hash of the configuration. It holds no secret of Tocsin's; the body is as the sender wrote it.
        </span>
      </p>
      <Line id="curl-evidence" label="The same from a terminal" text={evidence} />
      {alert.request !== undefined && (
        <>
          <Line id="curl-again" label="Send this body to a hook" text={again} />
          <p class="soft">
            With the <a href={`/alerts/${alert.id}/body`}>body</a> beside it, and the address of a hook (page{" "}
            <a href="/setup">Account</a>) in <code>HOOK_URL</code>: it comes in as a new alert, and is sent.
          </p>
        </>
      )}
    </>
  );
}

function Line({ id, label, text }: { id: string; label: string; text: string }) {
  return (
    <div class="row">
      <span class="soft">{label}</span>
      <button type="button" data-copy={id} hidden>
        Copy
      </button>
      <pre id={id} dir="ltr">
        {text}
      </pre>
    </div>
  );
}

/** A type that a shell could read otherwise is left out: the body is read without it as well. */
function contentTypeOf({ request }: AlertDetail): string {
  const type = request?.contentType;
  return type !== undefined && /^[\w./+-]+(?:; ?charset=[\w-]+)?$/.test(type) ? ` -H 'Content-Type: ${type}'` : "";
}
