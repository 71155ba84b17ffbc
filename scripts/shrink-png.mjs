// Converts a screenshot to a PNG of at most 256 colours, a third of its size, so documents load fast.
import { crc32, deflateSync, inflateSync } from "node:zlib";

const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const mostColours = 256;

/** Takes Chromium's format (8 bits, RGB or RGBA, not interlaced, opaque) and throws for others. */
export function shrinkPng(png) {
  const chunks = chunksOf(png);
  const header = chunks.find(({ type }) => type === "IHDR").data;
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)];
  const channels = { 2: 3, 6: 4 }[header[9]];
  if (header[8] !== 8 || channels === undefined || header[12] !== 0) throw new Error("This PNG is of another form");
  const data = inflateSync(Buffer.concat(chunks.filter(({ type }) => type === "IDAT").map((chunk) => chunk.data)));
  const colours = coloursOf(withoutFilters(data, width * channels, height, channels), channels);
  const palette = paletteOf(colours);
  const indexOf = nearestIn(palette);
  const rows = Buffer.alloc(height * (width + 1));
  colours.forEach((colour, at) => {
    rows[Math.floor(at / width) * (width + 1) + 1 + (at % width)] = indexOf(colour);
  });
  const newHeader = Buffer.from(header);
  newHeader[9] = 3;
  const entries = Buffer.from(palette.flatMap((colour) => [colour >> 16, (colour >> 8) & 255, colour & 255]));
  const parts = [
    ["IHDR", newHeader],
    ["PLTE", entries],
    ["IDAT", deflateSync(rows, { level: 9 })],
    ["IEND", Buffer.alloc(0)],
  ];
  return Buffer.concat([signature, ...parts.map(([type, content]) => chunkOf(type, content))]);
}

function chunksOf(png) {
  const chunks = [];
  for (let at = signature.length; at < png.length; ) {
    const length = png.readUInt32BE(at);
    chunks.push({
      type: png.toString("latin1", at + 4, at + 8),
      data: png.subarray(at + 8, at + 8 + length),
    });
    at += length + 12;
  }
  return chunks;
}

function chunkOf(type, content) {
  const body = Buffer.concat([Buffer.from(type, "latin1"), content]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(content.length);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}

/** https://www.w3.org/TR/png-3/#9Filters */
function withoutFilters(data, bytesOfRow, height, step) {
  const out = Buffer.alloc(bytesOfRow * height);
  for (let row = 0; row < height; row += 1) {
    const filter = data[row * (bytesOfRow + 1)];
    for (let column = 0; column < bytesOfRow; column += 1) {
      const at = row * bytesOfRow + column;
      const left = column < step ? 0 : out[at - step];
      const up = row === 0 ? 0 : out[at - bytesOfRow];
      const corner = row === 0 || column < step ? 0 : out[at - bytesOfRow - step];
      const guess = [0, left, up, (left + up) >> 1, paeth(left, up, corner)][filter];
      out[at] = data[row * (bytesOfRow + 1) + 1 + column] + guess;
    }
  }
  return out;
}

function paeth(left, up, corner) {
  const guess = left + up - corner;
  const [toLeft, toUp, toCorner] = [left, up, corner].map((value) => Math.abs(guess - value));
  if (toLeft <= toUp && toLeft <= toCorner) return left;
  return toUp <= toCorner ? up : corner;
}

function coloursOf(bytes, channels) {
  const colours = new Array(bytes.length / channels);
  for (let at = 0; at < colours.length; at += 1) {
    const from = at * channels;
    colours[at] = (bytes[from] << 16) | (bytes[from + 1] << 8) | bytes[from + 2];
  }
  return colours;
}

/** The most used colours, at some distance from each other. */
function paletteOf(colours) {
  const counts = new Map();
  for (const colour of colours) counts.set(colour, (counts.get(colour) ?? 0) + 1);
  const palette = [];
  for (const [colour] of [...counts].sort(([, a], [, b]) => b - a)) {
    if (palette.length === mostColours) break;
    if (palette.every((other) => distance(colour, other) > 48)) palette.push(colour);
  }
  return palette;
}

function nearestIn(palette) {
  const known = new Map();
  return (colour) => {
    let best = known.get(colour);
    if (best === undefined) {
      best = 0;
      for (const [index, other] of palette.entries()) {
        if (distance(colour, other) < distance(colour, palette[best])) best = index;
      }
      known.set(colour, best);
    }
    return best;
  };
}

function distance(a, b) {
  const [red, green, blue] = [16, 8, 0].map((shift) => ((a >> shift) & 255) - ((b >> shift) & 255));
  return red * red + green * green + blue * blue;
}
