// Processor time of the browser's processes and of the gateway: unlike seconds, it says something on a busy machine.
import { readdirSync, readFileSync } from 'node:fs'

/** Linux counts hundredths of a second. */
const TICK_MS = 10

/** @returns ms of user and system time so far, of all threads: page, drawing, rest of the browser, gateway */
export function processorMs(browserPid, gatewayPid) {
  const used = { page: 0, drawing: 0, browser: 0, gateway: timeOf(gatewayPid) }
  for (const pid of descendantsOf(browserPid)) {
    const command = textOf(`/proc/${pid}/cmdline`)
    const part = command.includes('--type=renderer')
      ? 'page'
      : command.includes('--type=gpu-process')
        ? 'drawing'
        : 'browser'
    used[part] += timeOf(pid)
  }
  return used
}

function descendantsOf(pid) {
  const parents = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => [Number(name), Number(fieldsOf(name)[1])])
  const found = [pid]
  for (let i = 0; i < found.length; i++)
    for (const [child, parent] of parents) if (parent === found[i]) found.push(child)
  return found
}

function timeOf(pid) {
  const fields = fieldsOf(pid)
  return (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) * TICK_MS
}

/** Fields of `stat` after the name of the program; none when the process has ended. */
function fieldsOf(pid) {
  return textOf(`/proc/${pid}/stat`).split(') ').at(-1).split(' ')
}

function textOf(file) {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
