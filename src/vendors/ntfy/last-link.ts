import type { Document } from "../../core/document.ts";
import { isLinkable } from "../../ground/text/linkable.ts";

/** Where to read more: the last link of a message leads there. Undefined when its last block has none. */
export function lastLink(document: Document): string | undefined {
  const block = document.blocks.at(-1);
  if (block?.kind !== "paragraph" && block?.kind !== "note") return undefined;
  const link = block.inlines.findLast((inline) => inline.kind === "link");
  return link?.kind === "link" && isLinkable(link.href) ? link.href : undefined;
}
