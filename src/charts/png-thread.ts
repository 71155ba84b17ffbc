import { parentPort } from "node:worker_threads";
import { renderPng } from "./render-png.ts";

export interface PngOrder {
  svg: string;
  scale: number;
}

parentPort?.on("message", async ({ svg, scale }: PngOrder) => {
  parentPort?.postMessage(await renderPng(svg, { scale }));
});
