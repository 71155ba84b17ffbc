import type { Translation } from "../core/alert.ts";
import type { FactMapping } from "../core/mapping.ts";
import type { StoredBody } from "../core/ports/body-reader.ts";
import type { Source } from "../core/source.ts";
import { compileMapping } from "./find/mapped-facts.ts";
import { createShapeReader } from "./find/shape.ts";
import { type ReadingOptions, translateRequest } from "./translate.ts";

export interface TranslatorOptions {
  /** Tried before facts are guessed. Default: none. */
  mapping?: FactMapping;
  /** The mapping of a hook comes before the general one. */
  sources: readonly Pick<Source, "name" | "mapping">[];
  readsShapes: boolean;
}

/** Reads bodies as configured, in the calling thread. */
export class Translator {
  readonly #names: ReadonlySet<string>;
  readonly #ofSources = new Map<string | undefined, ReadingOptions>();

  constructor(private readonly options: TranslatorOptions) {
    this.#names = new Set(options.sources.map(({ name }) => name));
  }

  translate({ body, contentType, source }: StoredBody): Translation[] {
    return translateRequest(body, contentType, this.#optionsOf(source));
  }

  /** Describes the next body of each shape again. */
  forgetShapes(ids: readonly string[]): void {
    for (const { shapes } of this.#ofSources.values()) shapes?.forget(ids);
  }

  /** A source may have left the configuration while its alerts wait to be read. */
  #optionsOf(source: string | undefined): ReadingOptions {
    const known = this.#ofSources.get(source);
    if (known !== undefined) return known;
    const { mapping, sources, readsShapes } = this.options;
    const own = sources.find(({ name }) => name === source)?.mapping;
    const made: ReadingOptions = {
      mapping: compileMapping({ ...mapping, ...own, severities: { ...mapping?.severities, ...own?.severities } }),
      shapes: readsShapes ? createShapeReader(source) : undefined,
      naming: { is: source, taken: this.#names },
    };
    this.#ofSources.set(source, made);
    return made;
  }
}
