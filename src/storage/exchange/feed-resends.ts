/** Rows of a feed that go once more. */
export interface FeedResend {
  readonly feedId: string
  /** names it: a later one takes its place, µs UTC */
  readonly askedAtUs: number
  /** UTC days of the rows' last writes at their origins, days since 1970, both included */
  readonly fromDay: number
  readonly toDay: number
  /** rows at the time of asking */
  readonly rows: number
  /** rows that went */
  readonly sent: number
  /** id of the last row that was looked at */
  readonly afterRow: number
}

/** Feeds of which rows go once more, at most one request each. */
export interface FeedResends {
  /** Asks for rows; days of a request that is not done yet are added. @returns what will go */
  ask(request: Omit<FeedResend, 'askedAtUs' | 'sent' | 'afterRow'>): Promise<FeedResend>
  find(feedId: string): Promise<FeedResend | undefined>
  /** Notes how far a request is; of one that another has taken the place of nothing. */
  note(resend: FeedResend): Promise<void>
  /** Ends a request; one that has taken its place stays. */
  end(resend: FeedResend): Promise<void>
}
