/** Token of a time expression. */
export interface Token {
  /** `mo`, `apr`, `off` … in lower case, digits, `7:00` as minutes of the day, or one character */
  readonly kind: 'word' | 'number' | 'time' | 'sign'
  readonly text: string
  /** of a number; minutes of a time */
  readonly value: number
  /** true where white space stands before it */
  readonly isSpaced: boolean
}

const PATTERN = /(\s*)(?:([a-z]+)|(\d{1,2}):(\d{2})|(\d{1,4})|([-,;:/]))/iy
const MINUTES_PER_HOUR = 60
/** `26:00` is two o'clock of the day after; later times are errors. */
const MAX_MINUTES = 48 * MINUTES_PER_HOUR

/** Splits a time expression into tokens. Linear. @returns undefined when it has other characters */
export function tokensOf(text: string): Token[] | undefined {
  const tokens: Token[] = []
  const trimmed = text.replace(/[–—]/g, '-').trimEnd()
  PATTERN.lastIndex = 0
  while (PATTERN.lastIndex < trimmed.length) {
    const token = tokenOf(PATTERN.exec(trimmed))
    if (token === undefined) return undefined
    tokens.push(token)
  }
  return tokens
}

function tokenOf(match: RegExpExecArray | null): Token | undefined {
  if (match === null) return undefined
  const [, space = '', word, hours, minutes, number, sign = ''] = match
  const isSpaced = space !== ''
  if (word !== undefined) return { kind: 'word', text: word.toLowerCase(), value: 0, isSpaced }
  if (number !== undefined) return { kind: 'number', text: number, value: Number(number), isSpaced }
  if (hours === undefined) return { kind: 'sign', text: sign, value: 0, isSpaced }
  const value = Number(hours) * MINUTES_PER_HOUR + Number(minutes)
  if (Number(minutes) >= MINUTES_PER_HOUR || value > MAX_MINUTES) return undefined
  return { kind: 'time', text: `${hours}:${minutes}`, value, isSpaced }
}

/** Reader of tokens. */
export interface Cursor {
  /** Returns the token that is next, or one behind it; undefined at the end. */
  peek(ahead?: number): Token | undefined
  /** Passes over the next token. */
  skip(): void
  /** Passes over a sign when it is next. @returns true when it was */
  take(sign: string): boolean
}

/** Creates a reader at the first token. */
export function createCursor(tokens: readonly Token[]): Cursor {
  let at = 0
  const isSign = (sign: string) => tokens[at]?.kind === 'sign' && tokens[at]?.text === sign
  return {
    peek: (ahead = 0) => tokens[at + ahead],
    skip: () => {
      at++
    },
    take: (sign) => {
      if (!isSign(sign)) return false
      at++
      return true
    },
  }
}
