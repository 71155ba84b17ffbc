import type { Rendering } from "../core/message-context.ts";
import type { NameOf } from "../core/subject-name.ts";
import { composeAlert } from "./compose-alert.ts";
import { composeDigest } from "./compose-digest.ts";

export interface RenderingOptions {
  /** The page's address for readers, e.g. `https://tocsin.example.com`. Absent: messages have no links to it. */
  publicUrl?: string;
  /** Finds names for subjects that alerts give only as addresses. Default: none. */
  nameOf?: NameOf;
}

/** Pure except for the names: the same input gives the same documents. */
export function createRendering({ publicUrl, nameOf }: RenderingOptions = {}): Rendering {
  return {
    composeAlert: (alert, context) => composeAlert(alert, context, publicUrl, nameOf),
    composeDigest: (alerts, context) => composeDigest(alerts, context, publicUrl, nameOf),
  };
}
