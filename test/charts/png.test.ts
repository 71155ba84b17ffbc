import { existsSync } from "node:fs";
import { crc32, inflateSync } from "node:zlib";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { drawLineChart } from "../../src/charts/line-chart.ts";
import { PngDesk, type PngDeskOptions } from "../../src/charts/png-desk.ts";
import { renderPng, writeIndexedPng } from "../../src/charts/render-png.ts";
import { lightTheme } from "../../src/charts/theme.ts";
import { pointsOf } from "./cases.ts";

const svg = drawLineChart({ title: "k", points: pointsOf(1, 2), width: 200, height: 100, theme: lightTheme });
const compiled = new URL("../../dist/charts/png-thread.js", import.meta.url);
if (!existsSync(compiled)) throw new Error("dist/charts/png-thread.js is missing: run `npm run build` first");
const rough = new URL("../support/rough-png-thread.mjs", import.meta.url);
const png = (text: string) => new TextEncoder().encode(text);

describe("a picture as PNG", () => {
  it("is told to need the renderer where that is not installed", async () => {
    const importRenderer = () => Promise.reject(new Error("Cannot find package"));
    expect(await renderPng(svg, { importRenderer })).toEqual({ problem: "no_renderer" });
  });

  it.each(["0", "1e30", "NaN", "-5", "99999", "1000000"])("is not tried at a width of %s", async (width) => {
    const root = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="9000"/>`;
    let tried = 0;
    const Resvg = class {
      constructor(given: string) {
        if (given === root) tried += 1;
      }
      getBBox() {
        return {};
      }
    };
    const importRenderer = async () => ({ Resvg }) as unknown as typeof import("@resvg/resvg-js");
    expect(await renderPng(root, { importRenderer })).toEqual({ problem: "failed" });
    expect(tried).toBe(0);
  });

  it("is not made without any font, instead of written without its text", async () => {
    const result = await renderPng(svg, { fontFiles: [], loadSystemFonts: false });
    expect(["no_font", "no_renderer"]).toContain("problem" in result && result.problem);
  });
});

describe("a PNG with a palette", () => {
  const readBack = (png: Uint8Array) => {
    const bytes = Buffer.from(png);
    const chunks = new Map<string, Buffer>();
    for (let at = 8; at < bytes.length; ) {
      const length = bytes.readUInt32BE(at);
      const data = bytes.subarray(at + 8, at + 8 + length);
      expect(bytes.readUInt32BE(at + 8 + length)).toBe(crc32(bytes.subarray(at + 4, at + 8 + length)));
      chunks.set(bytes.toString("latin1", at + 4, at + 8), data);
      at += length + 12;
    }
    const header = chunks.get("IHDR") as Buffer;
    const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)];
    const rows = inflateSync(chunks.get("IDAT") as Buffer);
    const palette = chunks.get("PLTE") as Buffer;
    const pixels = Array.from({ length: width * height }, (_, n) => {
      const index = rows[Math.floor(n / width) * (width + 1) + 1 + (n % width)] as number;
      return [...palette.subarray(3 * index, 3 * index + 3)];
    });
    return { width, height, pixels, colours: palette.length / 3 };
  };
  const bitmap = (width: number, height: number, colourOf: (n: number) => number[]) => ({
    width,
    height,
    pixels: Uint8Array.from(Array.from({ length: width * height }, (_, n) => [...colourOf(n), 255]).flat()),
  });

  it("has each pixel as it was, where there are no more than 256 colours", () => {
    const colourOf = (n: number) => [n, 255 - n, (n * 7) % 256];
    const found = readBack(writeIndexedPng(bitmap(16, 16, colourOf)) ?? new Uint8Array());
    const pixels = Array.from({ length: 256 }, (_, n) => colourOf(n));
    expect(found).toEqual({ width: 16, height: 16, colours: 256, pixels });
  });

  it("lets colours that hardly differ share one, where there are more", () => {
    const colourOf = (n: number) => [n % 256, Math.floor(n / 16) % 256, (n * 13) % 256];
    const found = readBack(writeIndexedPng(bitmap(64, 64, colourOf)) ?? new Uint8Array());
    expect(found.colours).toBeLessThanOrEqual(256);
    const off = found.pixels.flatMap((pixel, n) => pixel.map((one, c) => Math.abs(one - (colourOf(n)[c] ?? 0))));
    expect(Math.max(...off)).toBeLessThan(64);
  });

  it("is not made of what can be seen through", () => {
    expect(writeIndexedPng({ width: 1, height: 1, pixels: Uint8Array.of(1, 2, 3, 254) })).toBeUndefined();
  });
});

describe("the desk that makes them in a thread", () => {
  let desk: PngDesk;
  const open = (options: PngDeskOptions) => {
    desk = new PngDesk({ timeLimitMs: 300_000, ...options });
    return desk;
  };
  afterEach(() => desk.close());

  it("makes a picture twice as large as its SVG, or says which package is missing", async () => {
    const result = await open({ entry: compiled }).draw(svg);
    if ("problem" in result) expect(["no_renderer", "no_font"]).toContain(result.problem);
    else expect(new DataView(result.png.buffer, result.png.byteOffset).getUint32(16)).toBe(400);
  });

  it("makes nothing of what is no picture, and goes on", async () => {
    const { draw } = open({ entry: compiled });
    expect(await draw("<html>no picture</html>")).toHaveProperty("problem");
    const result = await draw(svg);
    if ("problem" in result) expect(["no_renderer", "no_font"]).toContain(result.problem);
  });

  it("refuses at once what comes while too many wait", async () => {
    const { draw } = open({ entry: rough, maxWaiting: 2 });
    const [first, second] = [draw("hang"), draw("echo")];
    expect(await draw("echo")).toEqual({ problem: "busy" });
    await desk.close();
    expect(await Promise.all([first, second])).toEqual([{ problem: "ended" }, { problem: "ended" }]);
    expect(await draw("echo")).toEqual({ problem: "ended" });
  });

  it("gives up what takes too long, and draws the next in a new thread", async () => {
    const { draw } = open({ entry: rough });
    const [hanging, waiting] = [new AbortController(), new AbortController()];
    const first = draw("hang", { signal: hanging.signal });
    const second = draw("echo", { signal: waiting.signal });
    const third = draw("echo 3");
    waiting.abort();
    expect(await second).toEqual({ problem: "late" });
    hanging.abort();
    expect(await first).toEqual({ problem: "late" });
    expect(await third).toEqual({ png: png("echo 3") });
    expect(await draw("echo", { signal: AbortSignal.abort() })).toEqual({ problem: "late" });
  });

  it("gives up by itself after its time limit", async () => {
    expect(await open({ entry: rough, timeLimitMs: 1 }).draw("hang")).toEqual({ problem: "late" });
  });

  it("survives the death of its thread, and a thread that cannot be started", async () => {
    const { draw } = open({ entry: rough });
    const dead = draw("die");
    const next = draw("echo");
    expect(await dead).toEqual({ problem: "ended" });
    expect(await next).toEqual({ png: png("echo") });
    await desk.close();
    const missing = open({ entry: new URL("./not-there.mjs", import.meta.url) });
    expect(await missing.draw("echo")).toEqual({ problem: "ended" });
  });

  it("ends its thread when there has been nothing to draw for a while, and starts one again", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const { draw } = open({ entry: rough, idleMs: 60_000 });
    const first = await draw("thread");
    expect(await draw("thread")).toEqual(first);
    vi.advanceTimersByTime(60_000);
    expect(await draw("thread")).not.toEqual(first);
  });
});
