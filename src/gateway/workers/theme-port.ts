import type { MessagePort } from 'node:worker_threads'
import { buffersOf, type ThemeAnswer, type ThemeQuestion, type ThemeRows } from '../../storage/theme-rows.js'
import { fromWire, toWire, type WireError } from '../../worker/wire-error.js'

interface Asked {
  readonly id: number
  readonly question: ThemeQuestion
}

type Answered =
  | { readonly id: number; readonly answer: ThemeAnswer }
  | { readonly id: number; readonly error: WireError }

/** Rows of themes at the other end of a port, for a thread without a connection to the database. */
export function askThemes(port: MessagePort): ThemeRows {
  const waiting = new Map<number, (answered: Answered) => void>()
  let lastId = 0
  port.on('message', (answered: Answered) => {
    waiting.get(answered.id)?.(answered)
    waiting.delete(answered.id)
  })
  return {
    async read(question) {
      const id = ++lastId
      const answered = await new Promise<Answered>((resolve) => {
        waiting.set(id, resolve)
        port.postMessage({ id, question } satisfies Asked)
      })
      if ('error' in answered) throw fromWire(answered.error)
      return answered.answer
    },
  }
}

/** Answers the questions that come through a port, until its other end is gone. */
export function answerThemes(port: MessagePort, rows: ThemeRows): void {
  const answer = async ({ id, question }: Asked): Promise<void> => {
    try {
      const found = await rows.read(question)
      port.postMessage({ id, answer: found } satisfies Answered, buffersOf(found))
    } catch (error) {
      port.postMessage({ id, error: toWire(error) } satisfies Answered)
    }
  }
  port.on('message', (asked: Asked) => void answer(asked))
  port.unref() // the thread at the other end keeps the process alive, or does not
}
