import { spawnSync } from 'node:child_process'

/**
 * Why a test that needs an outside tool is left out: false when the tool is there. For tap's `skip` option.
 */
export function missing(tool: string): string | false {
  const { error } = spawnSync(tool, ['--version'], { stdio: 'ignore' })
  return error === undefined ? false : `skipped: ${tool} is not installed`
}
