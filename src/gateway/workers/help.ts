import type { MessagePort } from 'node:worker_threads'
import type { Config } from '../../config/config.js'
import { openLines } from '../../files/graph-file-loader.js'
import { trimFound } from '../../risk/found-pieces.js'
import { layBranches } from '../../risk/shared-lay.js'
import type { HelpWork } from '../../route-engine/helpers.js'
import { customisePieces } from '../../routing/cch/shared-customise.js'
import type { RoadLines, SentLines } from '../../routing/graph/road-lines.js'
import { countReceived } from '../../routing/graph/shared-memory.js'
import { yieldToMain } from './priority.js'

/** Runs a thread that helps the search thread: each message is work, and is answered when no part of it is left. */
export function runHelpWorker(port: MessagePort, { config }: { readonly config: Config }): void {
  yieldToMain('help', config)
  const linesOf = createLinesCache()
  port.on('message', (work: HelpWork) => {
    countReceived(work)
    if ('customise' in work) {
      customisePieces(work.customise)
      port.postMessage(undefined)
    } else {
      const found = layBranches(work.lay, linesOf)
      port.postMessage(found && trimFound(found))
    }
  })
}

/** Keeps the lines of the map that was used last, with pages of its file. */
function createLinesCache(): (sent: SentLines) => RoadLines {
  let last: { readonly id: number; readonly lines: RoadLines } | undefined
  return (sent) => {
    if (last?.id !== sent.id) last = { id: sent.id, lines: openLines(sent) }
    return last.lines
  }
}
