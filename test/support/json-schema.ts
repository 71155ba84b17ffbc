type Json = Record<string, unknown>;

const says = new Set(["$schema", "$defs", "title", "description", "default", "examples", "deprecated"]);
const isMap = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value);
const isType = (type: string, value: unknown) => {
  if (type === "integer") return Number.isInteger(value);
  if (type === "array") return Array.isArray(value);
  return type === "object" ? isMap(value) : type === "null" ? value === null : typeof value === type;
};

/** Whether a value fits a JSON Schema of draft 2020-12. @throws Error for a word that is not known here: none is passed over */
export function fitsJsonSchema(root: Json, value: unknown, schema: unknown = root): boolean {
  if (typeof schema === "boolean") return schema;
  const fits = (inner: unknown, at = value) => fitsJsonSchema(root, at, inner);
  const all = Object(schema) as Json;
  const keys = isMap(value) ? Object.keys(value) : [];
  const number = typeof value === "number" ? value : undefined;
  return Object.entries(all).every(([word, rule]): boolean => {
    const list = rule as unknown[];
    const map = rule as Json;
    switch (word) {
      case "$ref":
        return fits((root.$defs as Json)[String(rule).replace("#/$defs/", "")]);
      case "type":
        return [rule].flat().some((type) => isType(String(type), value));
      case "const":
        return value === rule;
      case "enum":
        return list.includes(value);
      case "pattern":
        return typeof value !== "string" || new RegExp(String(rule), "u").test(value);
      case "minimum":
        return number === undefined || number >= Number(rule);
      case "exclusiveMinimum":
        return number === undefined || number > Number(rule);
      case "maximum":
        return number === undefined || number <= Number(rule);
      case "minItems":
        return !Array.isArray(value) || value.length >= Number(rule);
      case "minProperties":
        return !isMap(value) || keys.length >= Number(rule);
      case "required":
        return !isMap(value) || list.every((key) => keys.includes(String(key)));
      case "properties":
        return !isMap(value) || keys.every((key) => !(key in map) || fits(map[key], value[key]));
      case "patternProperties":
        return !isMap(value) || keys.every((key) => patternsOf(all, key).every((one) => fits(one, value[key])));
      case "additionalProperties": {
        const named = Object(all.properties) as Json;
        const others = keys.filter((key) => !(key in named) && patternsOf(all, key).length === 0);
        return !isMap(value) || others.every((key) => fits(rule, value[key]));
      }
      case "propertyNames":
        return keys.every((key) => fits(rule, key));
      case "items":
        return !Array.isArray(value) || value.every((item) => fits(rule, item));
      case "not":
        return !fits(rule);
      case "anyOf":
        return list.some((one) => fits(one));
      case "oneOf":
        return list.filter((one) => fits(one)).length === 1;
      default:
        if (says.has(word)) return true;
        throw new Error(`the JSON Schema says ${word}, which is not known`);
    }
  });
}

function patternsOf({ patternProperties }: Json, key: string): unknown[] {
  const patterns = Object.entries(Object(patternProperties) as Json);
  return patterns.flatMap(([pattern, schema]) => (new RegExp(pattern, "u").test(key) ? [schema] : []));
}
