import type { AlertDetailView } from "../../contract/operations.ts";
import type { AlertDetail } from "../../core/ports/alert-log.ts";
import { groupBy } from "../../ground/group-by.ts";
import { conditionsFold, fieldsPanel, readFacts, requestFacts } from "../../panels/alert.ts";
import type { Panel, Section } from "../../panels/panel.ts";
import { actsOf, aside, factsOf, foldOf, groupOf, say } from "../../panels/sections.ts";
import { asReceived } from "../body-text.ts";
import { printJson } from "../print-json.ts";
import type { ComposedMessage, WebDeps } from "../web-deps.ts";

export function evidencePanel(
  seen: AlertDetailView,
  { composeAgain, publicUrl }: Pick<WebDeps, "composeAgain" | "publicUrl">,
  alert: AlertDetail,
): Section {
  const { id, request } = alert;
  const messages = composeAgain?.(alert);
  return groupOf({ title: say`Evidence`, id: "evidence-title" }, [
    foldOf({ id: "facts-title", summary: "What was read" }, [
      factsOf(readFacts(seen)),
      ...fieldsPanel(seen),
      conditionsFold(seen),
    ]),
    messages &&
      foldOf(
        { id: "messages-title", summary: "The message at each destination", live: "messages" },
        messagesPanel(messages),
      ),
    foldOf({ id: "request-title", summary: "The request as received" }, [
      factsOf(requestFacts(seen)),
      ...(request ? asReceived(request, "the download") : []),
      request && actsOf({ label: "Download as received", link: `/alerts/${id}/body` }),
    ]),
    foldOf({ id: "share-title", summary: "Show it to others" }, sharePanel(alert, publicUrl)),
  ]);
}

function messagesPanel(messages: readonly ComposedMessage[]): Panel {
  const made = messages.filter(({ texts }) => texts.length > 0);
  const byText = groupBy(made, ({ texts }) => texts.join("\u0000"));
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

/** Lays out JSON, which is sent as one long line. */
function layOut(text: string): string {
  return text.startsWith("{") ? (printJson(text)?.text ?? text) : text;
}

/** The alert's address, all of it as one file, and both from a terminal. */
function sharePanel({ id, request }: AlertDetail, publicUrl: string): Panel {
  const line = (blockId: string, what: string, text: string): Panel => [
    aside`${{ words: what }}`,
    { kind: "block", blockId, text, canCopy: true },
  ];
  return [
    actsOf({ label: "Download the evidence", link: `/alerts/${id}/evidence` }),
    aside`One JSON file: the request, what was read and decided, each attempt, the messages, the key's history, and the
      hash of the configuration. It holds no secret of Tocsin's; the body is as the sender wrote it.`,
    ...line("permalink", "Address of this page", `${publicUrl}/alerts/${id}`),
    ...line(
      "curl-evidence",
      "The evidence, from a terminal",
      `curl -fsS -H "Authorization: Bearer $ADMIN_TOKEN" '${publicUrl}/api/alerts/${id}/evidence' -o '${id}.json'`,
    ),
    ...(request === undefined
      ? []
      : line(
          "curl-again",
          "Its downloaded body as a new alert, sent to a hook: HOOK_URL is the hook's address, see Account",
          `curl -fsS -X POST --data-binary '@${id}.txt'${contentTypeOf(request.contentType)} "$HOOK_URL"`,
        )),
  ];
}

/** Leaves out a type that a shell could read differently. The body is readable without it. */
function contentTypeOf(type: string | undefined): string {
  return type !== undefined && /^[\w./+-]+(?:; ?charset=[\w-]+)?$/.test(type) ? ` -H 'Content-Type: ${type}'` : "";
}
