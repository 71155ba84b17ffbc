import type { PropsWithChildren } from "hono/jsx";
import type { AlertDetailView } from "../../contract/operations.ts";
import type { AlertDetail } from "../../core/ports/alert-log.ts";
import { conditionsFold, fieldsPanel, readFacts, requestFacts } from "../../panels/alert.ts";
import { aside, type Panel, type Section, say } from "../../panels/panel.ts";
import { printJson } from "../print-json.ts";
import type { ComposedMessage } from "../web-deps.ts";
import { asReceived } from "./as-received.ts";
import type { Frame } from "./frame.ts";
import { PanelView } from "./panel.tsx";

interface EvidenceProps {
  alert: AlertDetail;
  seen: AlertDetailView;
  /** Absent: none can be made here. */
  messages?: ComposedMessage[];
  publicUrl: string;
  frame: Frame;
}

/** What shows how it was, folded away: what was read, what people got, the request, and how others get at it. */
export function Evidence({ alert, seen, messages, publicUrl, frame }: EvidenceProps) {
  const { id, request } = alert;
  return (
    <section aria-labelledby="evidence-title">
      <h2 id="evidence-title">Evidence</h2>
      <Fold id="facts-title" title="What was read">
        <PanelView
          panel={[{ kind: "facts", rows: readFacts(seen) }, ...fieldsPanel(seen), conditionsFold(seen)]}
          frame={frame}
        />
      </Fold>
      {messages !== undefined && (
        <Fold id="messages-title" title="The message at each destination">
          <div data-live="messages">
            <PanelView panel={messagesPanel(messages)} frame={frame} />
          </div>
        </Fold>
      )}
      <Fold id="request-title" title="The request as received">
        <PanelView
          panel={[{ kind: "facts", rows: requestFacts(seen) }, ...(request ? asReceived(request, "the download") : [])]}
          frame={frame}
        />
        {request && <a href={`/alerts/${id}/body`}>Download as received</a>}
      </Fold>
      <Fold id="share-title" title="Show it to others">
        <Share alert={alert} publicUrl={publicUrl} />
      </Fold>
    </section>
  );
}

const Fold = ({ id, title, children }: PropsWithChildren<{ id: string; title: string }>) => (
  <details id={id}>
    <summary>{title}</summary>
    {children}
  </details>
);

/** Messages that were made of the alert, equal texts once. */
function messagesPanel(messages: readonly ComposedMessage[]): Panel {
  const byText = new Map<string, ComposedMessage[]>();
  for (const message of messages.filter(({ texts }) => texts.length > 0)) {
    const key = message.texts.join("\u0000");
    byText.set(key, [...(byText.get(key) ?? []), message]);
  }
  if (byText.size === 0) return [aside`None: it went nowhere.`];
  return [
    aside`Preview: rebuilt from the stored alert, without delay notes, earlier messages and digests.`,
    ...[...byText.values()].map((same): Section => {
      const to = same.map(
        (one) => say`${{ bold: one.destination }} ${one.channel}${one.inDigest && say`, in a digest`}`,
      );
      return { kind: "messages", to, texts: (same[0]?.texts ?? []).map(layOut) };
    }),
  ];
}

/** What is sent as JSON goes as one line, in which nobody finds anything. */
function layOut(text: string): string {
  return text.startsWith("{") ? (printJson(text)?.text ?? text) : text;
}

/** Its address, all of it as one file, and both from a terminal. */
function Share({ alert: { id, request }, publicUrl }: { alert: AlertDetail; publicUrl: string }) {
  const lines = [
    ["permalink", "Address of this page", `${publicUrl}/alerts/${id}`],
    [
      "curl-evidence",
      "The evidence, from a terminal",
      `curl -fsS -H "Authorization: Bearer $ADMIN_TOKEN" '${publicUrl}/api/alerts/${id}/evidence' -o '${id}.json'`,
    ],
    [
      "curl-again",
      "Its downloaded body as a new alert, sent to a hook: HOOK_URL is the hook's address, see Account",
      request && `curl -fsS -X POST --data-binary '@${id}.txt'${contentTypeOf(request.contentType)} "$HOOK_URL"`,
    ],
  ] as const;
  return (
    <>
      <p>
        <a href={`/alerts/${id}/evidence`} download={`${id}.json`}>
          Download the evidence
        </a>{" "}
        <span class="soft">
          One JSON file: the request, what was read and decided, each attempt, the messages, the key's history, and the
          hash of the configuration. It holds no secret of Tocsin's; the body is as the sender wrote it.
        </span>
      </p>
      {lines.map(
        ([name, label, text]) =>
          text !== undefined && (
            <div class="row">
              <span class="soft">{label}</span>
              <button type="button" data-copy={name} hidden>
                Copy
              </button>
              <pre id={name} dir="ltr">
                {text}
              </pre>
            </div>
          ),
      )}
    </>
  );
}

/** A type that a shell could read otherwise is left out: the body is read without it as well. */
function contentTypeOf(type: string | undefined): string {
  return type !== undefined && /^[\w./+-]+(?:; ?charset=[\w-]+)?$/.test(type) ? ` -H 'Content-Type: ${type}'` : "";
}
