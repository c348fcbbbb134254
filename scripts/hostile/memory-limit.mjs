// A memory limit as the installed unit has it (MemoryMax): a control group of version 2 or 1, made by root.
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'

/** Roots of the memory controller, and the file that holds the limit: version 2 first. */
const CONTROLLERS = [
  { root: '/sys/fs/cgroup', limit: 'memory.max', swap: 'memory.swap.max', events: 'memory.events' },
  { root: '/sys/fs/cgroup/memory', limit: 'memory.limit_in_bytes', events: 'memory.oom_control' },
]

/**
 * Makes a control group.
 *
 * @returns { wrap, remove() }, or null where none can be made; `wrap` are words before a command that runs it
 *   in the group
 */
export function limitMemory(bytes) {
  for (const { root, limit, swap } of CONTROLLERS) {
    const dir = path.join(root, `fieldgate-hostile-${process.pid}`)
    if (!isController(root)) continue
    try {
      mkdirSync(dir)
      writeFileSync(path.join(dir, limit), String(bytes))
      if (swap !== undefined && existsSync(path.join(dir, swap))) writeFileSync(path.join(dir, swap), '0')
      const enter = `echo $$ > ${dir}/cgroup.procs && exec "$0" "$@"`
      return { wrap: ['/bin/sh', '-c', enter], remove: () => rmdirSync(dir) }
    } catch {
      if (existsSync(dir)) rmdirSync(dir) // this controller cannot be used, the next one may
    }
  }
  return null
}

function isController(root) {
  if (root !== '/sys/fs/cgroup') return existsSync(path.join(root, 'cgroup.procs'))
  const file = path.join(root, 'cgroup.subtree_control')
  return existsSync(file) && readFileSync(file, 'utf8').includes('memory')
}
