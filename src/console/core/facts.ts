/** What the page must know before it can call anything: `/console/facts.json`. */
export interface ConsoleFacts {
  version: string
  tokenHeader: string
  routeKey: string
  timeZone: string
  /** column that makes a table a risk map theme */
  levelColumn: string
  /** theme → data_name, where they differ */
  themes: Record<string, string>
  maxVia: number
  maxAlternatives: number
}
