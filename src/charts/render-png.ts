import { createRequire } from "node:module";
import { writeIndexedPng } from "./indexed-png.ts";
import { chartFont } from "./svg.ts";

const fontFile = "dejavu-fonts-ttf/ttf/DejaVuSans.ttf";
const boldFontFile = "dejavu-fonts-ttf/ttf/DejaVuSans-Bold.ttf";

type Renderer = typeof import("@resvg/resvg-js");

/** `no_renderer`, `no_font`: an optional package is not installed. `failed`: what was given is no picture. */
export type PngProblem = "no_renderer" | "no_font" | "failed";

export type PngResult = { png: Uint8Array } | { problem: PngProblem };

export interface PngParts {
  /** Times its size: 2, the default, is for dense screens. */
  scale?: number;
  /** Default: the optional package @resvg/resvg-js. */
  importRenderer?: () => Promise<Renderer>;
  /** TrueType files. Default: those of the optional package dejavu-fonts-ttf; none of them: the fonts of the system. */
  fontFiles?: string[];
  /** Default: only when there are no `fontFiles`. */
  loadSystemFonts?: boolean;
}

/**
 * The picture as PNG. Takes tens of milliseconds of the thread that it is called in: the relay asks `PngDesk`
 * instead. Without any font there is no picture, since the renderer would leave every text out without a word.
 */
export async function renderPng(svg: string, parts: PngParts = {}): Promise<PngResult> {
  const { scale = 2, importRenderer = () => import("@resvg/resvg-js"), fontFiles = installedFonts() } = parts;
  const { loadSystemFonts = fontFiles.length === 0 } = parts;
  const renderer = await importRenderer().catch(() => undefined);
  if (renderer === undefined) return { problem: "no_renderer" };
  if (!hasSize(svg, scale)) return { problem: "failed" };
  const { Resvg } = renderer;
  const font = { fontFiles, loadSystemFonts, defaultFontFamily: chartFont };
  try {
    if (new Resvg(probe, { font }).getBBox() === undefined) return { problem: "no_font" };
    const image = new Resvg(svg, { font, fitTo: { mode: "zoom", value: scale } }).render();
    const { width, height, pixels } = image;
    return { png: writeIndexedPng({ width, height, pixels }) ?? image.asPng() };
  } catch {
    return { problem: "failed" };
  }
}

/** 4,000 by 4,000: 64 MB while it is drawn. */
const maxPixels = 16_000_000;
const rootWithSize = /^<svg [^<>]{0,300}? width="(\d{1,6}(?:\.\d{1,6})?)" height="(\d{1,6}(?:\.\d{1,6})?)"/;

/**
 * Whether it begins as our pictures do, with a size that can be drawn: the renderer takes memory beyond any limit of a
 * thread for what is too large, and ends the whole process for a size that it cannot count.
 */
function hasSize(svg: string, scale: number): boolean {
  const [, width, height] = rootWithSize.exec(svg) ?? [];
  const pixels = Number(width) * Number(height) * scale * scale;
  return pixels >= 1 && pixels <= maxPixels;
}

/** Has an extent only when its text can be drawn. */
const probe = `<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><text y="9">x</text></svg>`;

function installedFonts(): string[] {
  const { resolve } = createRequire(import.meta.url);
  try {
    return [resolve(fontFile), resolve(boldFontFile)];
  } catch {
    return [];
  }
}
