import type { ChartTheme } from "./theme.ts";

/** The font of PNG files. A viewer without it takes the next. */
export const chartFont = "DejaVu Sans";

export interface PictureFrame {
  /** Pixels. */
  width: number;
  height: number;
  /** The picture's subject, in a few words. */
  title: string;
  /** The picture's content, for people who cannot see it. */
  description?: string;
  theme: ChartTheme;
  /** Default `img`. A `group` has parts that users can reach, such as links. */
  role?: "img" | "group";
  className?: string;
}

/** `body` must be SVG. Title and description are text. */
export function drawPicture(frame: PictureFrame, body: string): string {
  const { width, height, title, description, theme, role = "img", className } = frame;
  const font = theme.standsAlone ? ` font-family="'${chartFont}', Verdana, sans-serif"` : "";
  const name = className === undefined ? "" : ` class="${escapeXml(className)}"`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg"${name} width="${width}" ` +
      `height="${height}" viewBox="0 0 ${width} ${height}" role="${role}"${font}>`,
    `<title>${escapeXml(title)}</title>`,
    description === undefined ? "" : `<desc>${escapeXml(description)}</desc>`,
    theme.standsAlone ? `<rect width="${width}" height="${height}" fill="${theme.background}"/>` : "",
    body,
    "</svg>",
  ].join("");
}

export interface Label {
  x: number;
  y: number;
  text: string;
  fill: string;
  /** Pixels. Default 12. */
  size?: number;
  anchor?: "start" | "middle" | "end";
  bold?: boolean;
  /** An outline in this colour keeps the text readable on lines. */
  rim?: string;
}

export function drawLabel({ x, y, text, fill, size = 12, anchor = "start", bold = false, rim }: Label): string {
  const where = anchor === "start" ? "" : ` text-anchor="${anchor}"`;
  const weight = bold ? ' font-weight="bold"' : "";
  const around =
    rim === undefined ? "" : ` stroke="${rim}" stroke-width="4" stroke-linejoin="round" paint-order="stroke"`;
  return `<text x="${pixel(x)}" y="${pixel(y)}" font-size="${size}"${where}${weight}${around} fill="${fill}">${escapeXml(text)}</text>`;
}

export function drawDot(x: number, y: number, radius: number, fill: string): string {
  return `<circle cx="${pixel(x)}" cy="${pixel(y)}" r="${radius}" fill="${fill}"/>`;
}

/** To a tenth of a pixel. Always a number. */
export function pixel(value: number): number {
  return Number.isFinite(value) ? Math.round(value * 10) / 10 + 0 : 0;
}

/** Cuts the middle: chain and metric are at the front of a key, the address at its end. */
export function shorten(text: string, longest: number): string {
  // A hostile text may have millions of characters.
  const characters = [...(text.length > 4_000 ? `${text.slice(0, 2_000)}${text.slice(-2_000)}` : text)];
  if (characters.length <= longest) return text;
  const tail = Math.floor((longest - 1) / 3);
  return `${characters.slice(0, Math.max(1, longest - 1 - tail)).join("")}…${tail > 0 ? characters.slice(-tail).join("") : ""}`;
}

/** In pixels, in the chart's font. A rough estimate, rather too wide. */
export function widthOf(text: string, size: number): number {
  return [...text].length * size * 0.64;
}

/** The first text, with as many others as there is room for in pixels, in letters of 12. */
export function fitting([first = "", ...others]: readonly string[], between: string, room: number): string {
  return others.reduce((text, part) => {
    const longer = `${text}${between}${part}`;
    return widthOf(longer, 12) <= room ? longer : text;
  }, first);
}

/** Also replaces characters that XML 1.0 forbids (section 2.2), and those that turn the reading direction. */
export function escapeXml(text: string): string {
  return text
    .replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]|[\u202a-\u202e\u2066-\u2069]/gu, "\ufffd")
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;")
    .replaceAll("'", "&#39;");
}
