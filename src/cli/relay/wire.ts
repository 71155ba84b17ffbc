import type { z } from "@hono/zod-openapi";
import type {
  alertDetailSchema,
  alertSchema,
  deliveryDetailSchema,
  deliverySchema,
  destinationSchema,
  mutePreviewSchema,
  muteSchema,
  newMuteSchema,
  releaseSchema,
  resendPreviewSchema,
  resendResultSchema,
  statusSchema,
  tryResultSchema,
} from "../../web/api/schemas.ts";

/** What the relay's API says, as its own document has it. Times are ISO 8601 texts. */
export type AlertOnWire = z.infer<typeof alertSchema>;
export type AlertDetailOnWire = z.infer<typeof alertDetailSchema>;
export type DeliveryOnWire = z.infer<typeof deliverySchema>;
export type DeliveryDetailOnWire = z.infer<typeof deliveryDetailSchema>;
export type StatusOnWire = z.infer<typeof statusSchema>;
export type DestinationOnWire = z.infer<typeof destinationSchema>;
export type ReleaseOnWire = z.infer<typeof releaseSchema>;
export type MuteOnWire = z.infer<typeof muteSchema>;
export type ResendPreviewOnWire = z.infer<typeof resendPreviewSchema>;
export type ResendResultOnWire = z.infer<typeof resendResultSchema>;
export type TryResultOnWire = z.infer<typeof tryResultSchema>;
export type NewMuteOnWire = z.infer<typeof newMuteSchema>;
export type MutePreviewOnWire = z.infer<typeof mutePreviewSchema>;

/** One page of the log. */
export interface AlertPageOnWire {
  alerts: AlertOnWire[];
  /** What the next call goes on from; absent at the end of the log. */
  nextCursor?: string;
}
