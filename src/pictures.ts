import type { ChartPoint } from "./charts/series.ts";
import type { Clock } from "./core/clock.ts";
import type { AlertLog } from "./core/ports/alert-log.ts";
import type { DrawAlertPicture } from "./core/ports/alert-picture.ts";

export interface PicturesDeps {
  store: Pick<AlertLog, "getAlert" | "keyHistory">;
  /** Absent: no market-data service is configured. */
  readHistory?: (key: string) => Promise<readonly ChartPoint[] | undefined>;
  clock: Clock;
}

/** What draws for messages and pages. Its parts are loaded when the first picture is asked for. */
export interface Pictures {
  draw: DrawAlertPicture;
  /** Undefined when it cannot be made now. */
  toPng(svg: string): Promise<Uint8Array | undefined>;
  close(): Promise<void>;
}

export function createPictures(deps: PicturesDeps): Pictures {
  let isClosed = false;
  let opened: ReturnType<typeof open> | undefined;

  async function open() {
    const [{ createPngDesk }, { createAlertPictures }] = await Promise.all([
      import("./charts/png-desk.ts"),
      import("./operations/alert-picture.ts"),
    ]);
    const desk = createPngDesk();
    if (isClosed) await desk.close();
    return { desk, alerts: createAlertPictures({ ...deps, toPng: desk.draw }) };
  }

  function parts() {
    opened ??= open();
    return opened;
  }

  return {
    draw: async (alertId, options) => (await parts()).alerts.draw(alertId, options),
    async toPng(svg) {
      const result = await (await parts()).desk.draw(svg);
      return "png" in result ? result.png : undefined;
    },
    async close() {
      isClosed = true;
      await (await opened)?.desk.close();
    },
  };
}
