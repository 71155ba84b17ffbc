import type { Rendering } from "../core/message-context.ts";
import type { NameOf } from "../core/subject-name.ts";
import { composeAlert } from "./compose-alert.ts";
import { composeDigest } from "./compose-digest.ts";

export interface RenderingOptions {
  /** How the outside reaches the page, e.g. `https://tocsin.example.com`. Absent: messages hold no links to it. */
  publicUrl?: string;
  /** Names of what alerts give by address alone. Default: none is known. */
  nameOf?: NameOf;
}

/** Pure but for the names: the same input gives the same documents. */
export function createRendering({ publicUrl, nameOf }: RenderingOptions = {}): Rendering {
  return {
    composeAlert: (alert, context) => composeAlert(alert, context, publicUrl, nameOf),
    composeDigest: (alerts, context) => composeDigest(alerts, context, publicUrl, nameOf),
  };
}
