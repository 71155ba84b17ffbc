import { type Browser, chromium, type Page } from "playwright-core";
import { afterAll, onTestFinished } from "vitest";
import { findChromium } from "../../scripts/chromium.mjs";

export type { Page };

export interface PageOptions {
  width?: number;
  height?: number;
  colorScheme?: "light" | "dark";
  javaScript?: boolean;
  /** Default: this machine's. */
  timezoneId?: string;
  /** A phone's: touched, and as wide as its content says. */
  isPhone?: boolean;
}

let browser: Promise<Browser> | undefined;
afterAll(async () => (await browser)?.close());

/** In Chromium, which is started once for a file and asks nobody for anything. It shares nothing with other pages, and closes when the test ends. */
export async function openPage(options: PageOptions = {}): Promise<Page> {
  const { width = 1400, height = 900, colorScheme = "light", javaScript = true, timezoneId, isPhone } = options;
  browser ??= chromium.launch({
    timeout: 0,
    executablePath: findChromium(),
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
  const context = await (await browser).newContext({
    viewport: { width, height },
    colorScheme,
    javaScriptEnabled: javaScript,
    timezoneId,
    hasTouch: isPhone,
    isMobile: isPhone,
  });
  onTestFinished(() => context.close());
  // A busy machine needs long; the test's own limit ends what never comes.
  context.setDefaultTimeout(0);
  return context.newPage();
}
