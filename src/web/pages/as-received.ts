import { countOf } from "../../ground/text/count-of.ts";
import { aside, foldOf, type Panel, tableOf } from "../../panels/panel.ts";
import { type ShownBody, showBody } from "../body-text.ts";

const formWords: Record<ShownBody["form"], string> = {
  json: "JSON, laid out; every digit as it was sent",
  text: "Text, as it was sent",
  bytes: "Bytes",
  empty: "The body was empty.",
};

interface Received {
  body: Uint8Array;
  headers: readonly (readonly [name: string, value: string])[];
}

/** A request as it came: its body, laid out, and its headers. `whole`: where all of a long body is. */
export function asReceived({ body, headers }: Received, whole: string): Panel {
  const { form, text, isCut } = showBody(body);
  return [
    aside`${{ words: formWords[form] }}`,
    form !== "empty" && { kind: "block", blockId: "body", text, isBytes: form === "bytes", canCopy: true },
    isCut && aside`This is the beginning; ${{ words: whole }} has all of it.`,
    foldOf({ summary: { words: countOf(headers.length, "header") } }, [
      tableOf(headers, { name: ([name]) => name, value: ([, value]) => value }),
    ]),
  ];
}
