import type { Rendering } from "../core/message-context.ts";
import { composeAlert } from "./compose-alert.ts";
import { composeDigest } from "./compose-digest.ts";

export interface RenderingOptions {
  /** How the outside reaches the page, e.g. `https://tocsin.example.com`. Absent: messages hold no links to it. */
  publicUrl?: string;
  /** The vendors' renderers. */
  renderDocument: Rendering["renderDocument"];
}

/** Pure: the same input gives the same messages. */
export function createRendering({ publicUrl, renderDocument }: RenderingOptions): Rendering {
  return {
    composeAlert: (alert, context) => composeAlert(alert, context, publicUrl),
    composeDigest: (alerts, context) => composeDigest(alerts, context, publicUrl),
    renderDocument,
  };
}
