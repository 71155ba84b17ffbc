import { createRequire } from "node:module";
import { AppError } from "../../core/errors.ts";
import { svgFontFamily } from "./curve-svg.ts";

const fontFile = "dejavu-fonts-ttf/ttf/DejaVuSans.ttf";
const boldFontFile = "dejavu-fonts-ttf/ttf/DejaVuSans-Bold.ttf";

type Renderer = typeof import("@resvg/resvg-js");

export interface PngParts {
  /** Default: the optional package @resvg/resvg-js. */
  importRenderer?: () => Promise<Renderer>;
  /** TrueType files. Default: those of the optional package dejavu-fonts-ttf; none of them: the fonts of the system. */
  fontFiles?: string[];
  /** Default: only when there are no `fontFiles`. */
  loadSystemFonts?: boolean;
}

/**
 * The picture as PNG at twice its size, for dense screens. Both the renderer and its font are optional packages:
 * without the renderer this throws `failed`; without the font the system's fonts are used, and if there are none it
 * throws too, since the renderer would leave every text out without a word.
 */
export async function svgToPng(svg: string, parts: PngParts = {}): Promise<Uint8Array> {
  const { importRenderer = () => import("@resvg/resvg-js"), fontFiles = installedFonts() } = parts;
  const { loadSystemFonts = fontFiles.length === 0 } = parts;
  const { Resvg } = await loadRenderer(importRenderer);
  const font = { fontFiles, loadSystemFonts, defaultFontFamily: svgFontFamily };
  if (new Resvg(probe, { font }).getBBox() === undefined) {
    throw new AppError("failed", "no font was found to write the picture's text with", {
      hint: "npm install dejavu-fonts-ttf, or write --svg instead",
    });
  }
  return new Resvg(svg, { font, fitTo: { mode: "zoom", value: 2 } }).render().asPng();
}

/** Has an extent only when its text can be drawn. */
const probe = `<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><text y="9">x</text></svg>`;

async function loadRenderer(importRenderer: () => Promise<Renderer>): Promise<Renderer> {
  try {
    return await importRenderer();
  } catch {
    throw new AppError("failed", "PNG files need the optional package @resvg/resvg-js, which is not installed", {
      hint: "npm install @resvg/resvg-js, or write --svg instead",
    });
  }
}

function installedFonts(): string[] {
  const { resolve } = createRequire(import.meta.url);
  try {
    return [resolve(fontFile), resolve(boldFontFile)];
  } catch {
    return [];
  }
}
