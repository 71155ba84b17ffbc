import type { Rendering } from "../../src/core/message-context.ts";
import { createRendering as createRealRendering } from "../../src/rendering/rendering.ts";
import { createDocumentRenderer } from "../../src/vendors/index.ts";
import type { KnownMessage } from "./known-vendors.ts";

/** Rendering as `app.ts` composes it. */
export function createRendering(options: { publicUrl?: string } = {}) {
  return createRealRendering({ ...options, renderDocument: createDocumentRenderer() }) as Omit<
    Rendering,
    "renderDocument"
  > & {
    renderDocument(...from: Parameters<Rendering["renderDocument"]>): KnownMessage[];
  };
}
