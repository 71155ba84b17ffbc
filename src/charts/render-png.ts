import { createRequire } from "node:module";
import { crc32, deflateSync } from "node:zlib";
import { chartFont } from "./svg.ts";

const fontFile = "dejavu-fonts-ttf/ttf/DejaVuSans.ttf";
const boldFontFile = "dejavu-fonts-ttf/ttf/DejaVuSans-Bold.ttf";

type Renderer = typeof import("@resvg/resvg-js");

/** `no_renderer`, `no_font`: an optional package is not installed. `failed`: the SVG is no picture. */
export type PngProblem = "no_renderer" | "no_font" | "failed";

export type PngResult = { png: Uint8Array } | { problem: PngProblem };

export interface PngParts {
  /** Times the SVG's size. The default 2 is for dense screens. */
  scale?: number;
  /** Default: the optional package @resvg/resvg-js. */
  importRenderer?: () => Promise<Renderer>;
  /** TrueType files. Default: the optional package dejavu-fonts-ttf, or without it the system's fonts. */
  fontFiles?: string[];
  /** Default: only when there are no `fontFiles`. */
  loadSystemFonts?: boolean;
}

/** Takes tens of milliseconds of its thread. Fails without a font: the renderer would silently leave out every text. */
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

/** 4,000 by 4,000: drawing takes 64 MB. */
const maxPixels = 16_000_000;
const rootWithSize = /^<svg [^<>]{0,300}? width="(\d{1,6}(?:\.\d{1,6})?)" height="(\d{1,6}(?:\.\d{1,6})?)"/;

/** A size that is too large takes memory beyond any limit of a thread. An invalid one ends the whole process. */
function hasSize(svg: string, scale: number): boolean {
  const [, width, height] = rootWithSize.exec(svg) ?? [];
  const pixels = Number(width) * Number(height) * scale * scale;
  return pixels >= 1 && pixels <= maxPixels;
}

/** The probe has an extent only when its text can be drawn. */
const probe = `<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><text y="9">x</text></svg>`;

function installedFonts(): string[] {
  const { resolve } = createRequire(import.meta.url);
  try {
    return [resolve(fontFile), resolve(boldFontFile)];
  } catch {
    return [];
  }
}

/** Four bytes a pixel, red, green, blue and alpha, row by row. */
interface Bitmap {
  width: number;
  height: number;
  pixels: Uint8Array;
}

const mostColours = 256;

/** A palette takes a third of the bytes. Beyond 256 colours, similar ones share one. Undefined with transparency. */
export function writeIndexedPng({ width, height, pixels }: Bitmap): Uint8Array | undefined {
  for (let at = 3; at < pixels.length; at += 4) {
    if (pixels[at] !== 255) return undefined;
  }
  for (const bits of [8, 7, 6, 5, 4, 3, 2]) {
    const found = indexColours({ width, height, pixels }, 8 - bits);
    if (found === undefined) continue;
    const header = Buffer.alloc(13);
    header.writeUInt32BE(width, 0);
    header.writeUInt32BE(height, 4);
    // Eight bits per pixel with a palette. Standard compression and filter, no interlace.
    header.set([8, 3, 0, 0, 0], 8);
    return Buffer.concat([
      signature,
      chunk("IHDR", header),
      chunk("PLTE", Buffer.from(found.palette)),
      chunk("IDAT", deflateSync(found.rows)),
      chunk("IEND", Buffer.alloc(0)),
    ]);
  }
  return undefined;
}

const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/** Each row begins with a byte 0: no filter. Undefined when there are more colours than a palette holds. */
function indexColours({ width, height, pixels }: Bitmap, lostBits: number) {
  const indexes = new Map<number, number>();
  const palette: number[] = [];
  const rows = Buffer.alloc(height * (width + 1));
  let [previous, index] = [-1, 0];
  for (let row = 0, to = 0, from = 0; row < height; row += 1) {
    to += 1;
    for (let column = 0; column < width; column += 1, from += 4, to += 1) {
      const [red, green, blue] = [pixels[from] as number, pixels[from + 1] as number, pixels[from + 2] as number];
      const key = ((red >> lostBits) << 16) | ((green >> lostBits) << 8) | (blue >> lostBits);
      if (key !== previous) {
        const known = indexes.get(key);
        if (known === undefined && indexes.size === mostColours) return undefined;
        index = known ?? indexes.size;
        if (known === undefined) {
          indexes.set(key, index);
          palette.push(red, green, blue);
        }
        previous = key;
      }
      rows[to] = index;
    }
  }
  return { palette, rows };
}

function chunk(type: string, data: Buffer): Buffer {
  const framed = Buffer.alloc(data.length + 12);
  framed.writeUInt32BE(data.length, 0);
  framed.write(type, 4, "latin1");
  framed.set(data, 8);
  framed.writeUInt32BE(crc32(framed.subarray(4, data.length + 8)), data.length + 8);
  return framed;
}
