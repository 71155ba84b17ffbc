import { type Browser, chromium, type Page } from "playwright-core";
import { onTestFinished } from "vitest";

export type { Page };

export interface PageOptions {
  width?: number;
  height?: number;
  colorScheme?: "light" | "dark";
  javaScript?: boolean;
  /** Default: this machine's. */
  timezoneId?: string;
}

/** Debian's Chromium, closed when the test ends. It asks nobody for anything. */
export async function openBrowser(): Promise<{
  browser: Browser;
  openPage(options?: PageOptions): Promise<Page>;
}> {
  const browser = await chromium.launch({
    timeout: 0,
    executablePath: process.env.CHROMIUM_PATH ?? "/usr/bin/chromium",
    args: [
      "--headless",
      "--no-sandbox",
      "--disable-gpu",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
  onTestFinished(() => browser.close());
  return {
    browser,
    async openPage({ width = 1400, height = 900, colorScheme = "light", javaScript = true, timezoneId } = {}) {
      const context = await browser.newContext({
        viewport: { width, height },
        colorScheme,
        javaScriptEnabled: javaScript,
        timezoneId,
      });
      // A busy machine needs long; the test's own limit ends what never comes.
      context.setDefaultTimeout(0);
      return context.newPage();
    },
  };
}
