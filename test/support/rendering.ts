import { createRendering as createRealRendering } from "../../src/rendering/rendering.ts";
import { createDocumentRenderer } from "../../src/vendors/render-document.ts";

/** Rendering as `app.ts` composes it. */
export function createRendering(options: { publicUrl?: string } = {}) {
  return createRealRendering({ ...options, renderDocument: createDocumentRenderer() });
}
