import { z } from "zod";
import { destinationSchema } from "./destinations.ts";
import { destinationName, routeSchema } from "./routes.ts";
import {
  canarySchema,
  defaultsSchema,
  deliverySchema,
  heartbeatSchema,
  intakeSchema,
  mappingSchema,
  marketSchema,
  muteSchema,
  retentionSchema,
  silenceSchema,
  watchSchema,
} from "./sections.ts";
import { sourceSchema } from "./sources.ts";

/** `tocsin.yaml` as a whole. It is read section by section; this is for those who describe it. */
export const fileSchema = () =>
  z.strictObject({
    defaults: defaultsSchema.nullish(),
    destinations: z.record(z.string(), destinationSchema).nullish(),
    routes: z.array(routeSchema()).nullish(),
    mutes: z.array(muteSchema).nullish(),
    intake: intakeSchema.nullish(),
    mapping: mappingSchema.nullish(),
    delivery: deliverySchema.nullish(),
    retention: retentionSchema.nullish(),
    watch: watchSchema.nullish(),
    market: marketSchema.nullish(),
    heartbeat: heartbeatSchema.nullish(),
    silence: silenceSchema.nullish(),
    canary: canarySchema(destinationName()).optional(),
    sources: z.record(z.string(), sourceSchema.nullable()).nullish(),
  });
