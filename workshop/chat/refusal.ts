/** How the Bot API says no. The descriptions are the vendor's own, to the letter where they are known. */
export class Refusal extends Error {
  readonly errorCode: number;
  readonly parameters?: { retry_after?: number; migrate_to_chat_id?: number };

  constructor(errorCode: number, description: string, parameters?: Refusal["parameters"]) {
    super(description);
    this.name = "Refusal";
    this.errorCode = errorCode;
    this.parameters = parameters;
  }
}

export function badRequest(description: string): Refusal {
  return new Refusal(400, `Bad Request: ${description}`);
}
