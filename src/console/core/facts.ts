/** Settings of the gateway that the console needs before its first call: `/console/facts.json`. */
export interface ConsoleFacts {
  version: string
  tokenHeader: string
  routeKey: string
  timeZone: string
  /** name of the column that makes a table a theme of the risk map */
  levelColumn: string
  /** theme → data_name, where they differ */
  themes: Record<string, string>
  maxVia: number
  maxAlternatives: number
  /** path → names of the methods that are called there */
  methods: Record<string, string[]>
}
