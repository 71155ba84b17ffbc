/** A message entity as the Bot API knows it; offsets and lengths count UTF-16 units. */
export interface Entity {
  type: string;
  offset: number;
  length: number;
  url?: string;
  language?: string;
  unix_time?: number;
  date_time_format?: string;
}

export interface FormattedText {
  text: string;
  entities: Entity[];
}
