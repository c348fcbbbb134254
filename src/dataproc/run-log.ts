import { mkdir, open, readdir, rm, stat, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { ifThere } from '../files/blob-store.js'
import { type DataprocLayout, logPath } from './layout.js'

/** Log of one run: its output and its result. */
export interface RunLog {
  print(stream: 'stdout' | 'stderr', chunk: Uint8Array): void
  /** Returns the end of stderr: at most 20 lines, without control characters. */
  lastLines(): string
  /** Writes `run.json` and removes old logs. @param facts content of `run.json` */
  close(facts: object): Promise<void>
}

/** Logs of runs: one directory each, whose names sort by time. */
export interface RunLogs {
  open(startedAtUs: number, runId: string): Promise<RunLog>
}

const TAIL_BYTES = 8 * 1024
const TAIL_LINES = 20

/** Opens the logs. @param limits logs beyond them are removed when a run ends, oldest first */
export function createRunLogs(
  layout: DataprocLayout,
  limits: { maxRuns: number; maxBytes: number },
): RunLogs {
  return {
    async open(startedAtUs, runId) {
      const dir = logPath(layout, startedAtUs, runId)
      await mkdir(dir, { mode: 0o700 })
      const writers = {
        stdout: createAppender(path.join(dir, 'stdout')),
        stderr: createAppender(path.join(dir, 'stderr')),
      }
      let tail = Buffer.alloc(0)
      return {
        print(stream, chunk) {
          writers[stream].append(chunk)
          if (stream === 'stderr') tail = Buffer.concat([tail, chunk]).subarray(-TAIL_BYTES)
        },
        lastLines: () => readable(tail),
        async close(facts) {
          await Promise.all([writers.stdout.close(), writers.stderr.close()])
          await writeFile(path.join(dir, 'run.json'), `${JSON.stringify(facts, null, 2)}\n`, { mode: 0o600 })
          await removeOld(layout.logsDir, limits)
        },
      }
    },
  }
}

/** Appends chunks in order; creates the file at the first one. `close` throws the first error of a write. */
function createAppender(file: string): { append(chunk: Uint8Array): void; close(): Promise<void> } {
  let last: Promise<Awaited<ReturnType<typeof open>> | undefined> = Promise.resolve(undefined)
  return {
    append(chunk) {
      const next = last.then(async (kept) => {
        const handle = kept ?? (await open(file, 'a', 0o600))
        await handle.appendFile(chunk)
        return handle
      })
      next.catch(() => undefined) // `close` throws it
      last = next
    },
    async close() {
      const handle = await last
      await handle?.close()
    },
  }
}

function readable(bytes: Buffer): string {
  const lines = bytes.toString('utf8').replace(/\r\n?/g, '\n').trimEnd().split('\n')
  // control characters could change a caller's terminal
  return lines
    .slice(-TAIL_LINES)
    .join('\n')
    .replace(/\p{Cc}/gu, (char) => (char === '\n' || char === '\t' ? char : '\uFFFD'))
}

async function removeOld(
  dir: string,
  { maxRuns, maxBytes }: { maxRuns: number; maxBytes: number },
): Promise<void> {
  const names = (await readdir(dir)).sort().reverse() // newest first
  let bytes = 0
  for (const [index, name] of names.entries()) {
    bytes += await sizeOf(path.join(dir, name))
    if (index >= maxRuns || (bytes > maxBytes && index > 0))
      await rm(path.join(dir, name), { recursive: true, force: true })
  }
}

async function sizeOf(dir: string): Promise<number> {
  let bytes = 0
  for (const name of (await ifThere(readdir(dir))) ?? [])
    bytes += (await ifThere(stat(path.join(dir, name))))?.size ?? 0
  return bytes
}
