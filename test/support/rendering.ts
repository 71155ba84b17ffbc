import { createRendering as createRealRendering, type RenderingOptions } from "../../src/rendering/rendering.ts";
import { renderDocument } from "../../src/vendors/index.ts";
import type { KnownMessage } from "./known-vendors.ts";

/** Rendering as `app.ts` composes it, with the vendors' renderers. */
export const createRendering = (options: RenderingOptions = {}) => ({
  ...createRealRendering(options),
  renderDocument: renderDocument as (...from: Parameters<typeof renderDocument>) => KnownMessage[],
});
