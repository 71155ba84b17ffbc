import { parentPort } from "node:worker_threads";
import { renderPng } from "./render-png.ts";

export interface PngOrder {
  svg: string;
  scale: number;
}

/** Entry of the thread that makes PNG pictures of SVG, one after the other. */
parentPort?.on("message", async ({ svg, scale }: PngOrder) => {
  parentPort?.postMessage(await renderPng(svg, { scale }));
});
