// The console in Chromium: start on a slow link, answers a second during a drag on Porto, and tasks over 100 ms with
// much data. Without a graphics card the browser draws by the processor, which is told apart.
import { existsSync } from 'node:fs'
import os from 'node:os'
import { CHROMIUM, startBrowser } from './console/browser.mjs'
import { measureDrags } from './console/drag.mjs'
import { measureTasks } from './console/long-tasks.mjs'
import { measureStart } from './console/start.mjs'
import { startWorld } from './console/world.mjs'
import { isThere, PORTO } from './extracts.mjs'

export async function run() {
  if (!existsSync(CHROMIUM)) return console.log(`skipped: ${CHROMIUM} is not installed`)
  if (!isThere(PORTO)) return
  const world = await startWorld(PORTO)
  try {
    await inBrowser('Start at 50 kB/s, empty cache', world, measureStart, startText)
    await inBrowser('Dragging a pin on Porto', world, measureDrags, dragText)
    await inBrowser(
      'Longest task of the main thread: 200 tables, 1,000,000 rows, 10,000 features',
      world,
      measureTasks,
      taskText,
    )
  } finally {
    await world.stop()
  }
}

async function inBrowser(title, world, measure, text) {
  const [load] = os.loadavg()
  console.log(`\n${title} (load average ${load.toFixed(1)} on ${os.availableParallelism()} cores)`)
  const browser = await startBrowser()
  try {
    for (const row of await measure(browser, world)) console.log(`- ${row.title}: ${text(row)}`)
  } finally {
    await browser.close()
  }
}

function startText({ seconds, target, kB }) {
  const asked = target === undefined ? '' : `, target ${target} s`
  return `${seconds.toFixed(1)} s${asked}; ${kB.toFixed(0)} kB`
}

function dragText({ perS, target, framesPerS, cpuMs, kB }) {
  const parts = Object.entries(cpuMs).map(([part, ms]) => `${part} ${ms.toFixed(0)}`)
  return `${perS.toFixed(1)} answers/s, target ${target}; ${framesPerS.toFixed(1)} frames/s; processor ms an answer: ${parts.join(', ')}; ${kB.toFixed(1)} kB an answer`
}

function taskText({ cpuMs, wallMs, target, over, inside }) {
  const long = inside.map((text) => `\n    ${text}`).join('')
  return `${cpuMs.toFixed(0)} ms of processor time, target ${target}; ${wallMs.toFixed(0)} ms by the clock; ${over} over the target${long}`
}
