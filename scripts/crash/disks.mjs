import { spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import path from 'node:path'

/** File systems on loop devices, which the crash tests shut down. */

/** Reason why there are none here; null where there are. */
export function withoutDisks() {
  if (process.getuid() !== 0) return 'mounting a loop device needs root'
  const tools = ['mkfs.xfs', 'xfs_io', 'mount', 'umount'].filter(
    (tool) => spawnSync('sh', ['-c', `command -v ${tool}`]).status !== 0,
  )
  return tools.length === 0 ? null : `${tools.join(', ')} missing (package xfsprogs)`
}

/** Makes an XFS of a size in a folder and mounts it. */
export function makeDisk(folder, name, megabytes) {
  const image = path.join(folder, `${name}.img`)
  const dir = path.join(folder, `${name}-disk`)
  run('truncate', '-s', `${megabytes}M`, image)
  run('mkfs.xfs', '-q', image)
  mkdirSync(dir)
  const disk = {
    dir,
    isMounted: false,
    mount() {
      run('mount', '-o', 'loop', image, dir)
      disk.isMounted = true
    },
    unmount() {
      if (disk.isMounted) run('umount', dir)
      disk.isMounted = false
    },
  }
  disk.mount()
  return disk
}

/** Runs a command to its end. @throws Error with what it printed when it fails */
export function run(...command) {
  const { status, stderr, error } = spawnSync(command[0], command.slice(1), { encoding: 'utf8' })
  if (status !== 0) throw new Error(`${command.join(' ')}: ${stderr ?? error}`)
}
