import { closeSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import { CAUSES, type Cause, type OnLeftOut } from '../../mapbuild/roads/left-out.js'
import { group } from './map-facts.js'

/** File that lists what a build leaves out, as CSV: `type,id,cause`. */
export interface LeftOutReport {
  readonly add: OnLeftOut
  /** Gives the file its name. */
  finish(): void
  /** Removes what was written, unless the file has its name already. */
  abandon(): void
}

const CHUNK_CHARS = 64 * 1024

/** Creates a report under a temporary name, so that a stopped build leaves none. */
export function createLeftOutReport(file: string): LeftOutReport {
  const temporary = `${file}.${process.pid}.tmp`
  const fd = openSync(temporary, 'w')
  let chunk = 'type,id,cause\n'
  let isOpen = true
  const flush = () => {
    const bytes = Buffer.from(chunk)
    for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done)
    chunk = ''
  }
  return {
    add(type, id, cause) {
      chunk += `${type},${id},${cause}\n`
      if (chunk.length >= CHUNK_CHARS) flush()
    },
    finish() {
      flush()
      closeSync(fd)
      isOpen = false
      renameSync(temporary, file)
    },
    abandon() {
      if (!isOpen) return
      closeSync(fd)
      rmSync(temporary, { force: true })
    },
  }
}

/** Lists what a build left out, by cause, as `12 ways closed by access tags`; nothing for a count of 0. */
export function leftOutLines(counts: Readonly<Record<string, number>>): string[] {
  return (Object.keys(CAUSES) as Cause[])
    .filter((cause) => (counts[cause] ?? 0) > 0)
    .map((cause) => `${group(counts[cause] ?? 0)} ${CAUSES[cause][1]}`)
}
