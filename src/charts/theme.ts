/** In SVG's notation. */
export interface ChartTheme {
  background: string;
  ink: string;
  soft: string;
  grid: string;
  line: string;
  critical: string;
  warning: string;
  info: string;
  unknown: string;
  good: string;
  /** Also the limit's colour. */
  bad: string;
  /** Whether the picture has its own background and font, as a file or in a message. Otherwise it is part of a page. */
  standsAlone: boolean;
}

export const lightTheme: ChartTheme = {
  background: "#ffffff",
  ink: "#18202a",
  soft: "#54606d",
  grid: "#e1e6ec",
  line: "#0a58a6",
  critical: "#c42b21",
  warning: "#b36b00",
  info: "#2569b3",
  unknown: "#7b8794",
  good: "#17693a",
  bad: "#a11c15",
  standsAlone: true,
};

export const darkTheme: ChartTheme = {
  background: "#171e26",
  ink: "#e6ebf1",
  soft: "#9eabb9",
  grid: "#2d3844",
  line: "#7cb9f6",
  critical: "#f0655b",
  warning: "#dd9a2e",
  info: "#5a9fe6",
  unknown: "#8794a3",
  good: "#7fd9a1",
  bad: "#ffa197",
  standsAlone: true,
};

/** The page's custom properties are light or dark as the page is. */
export const pageTheme: ChartTheme = {
  background: "var(--surface)",
  ink: "var(--ink)",
  soft: "var(--soft)",
  grid: "var(--line)",
  line: "var(--accent)",
  critical: "var(--critical)",
  warning: "var(--warning)",
  info: "var(--info)",
  unknown: "var(--off)",
  good: "var(--good)",
  bad: "var(--bad)",
  standsAlone: false,
};
