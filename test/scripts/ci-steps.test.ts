import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'

/** Runs lines of bash with the functions of `.ci/steps.sh`. @returns exit status and what it printed */
function run(dir: string, lines: string): { status: number | null; out: string[] } {
  const file = path.join(dir, 'run.sh')
  writeFileSync(file, `set -uo pipefail\n. ${path.resolve('.ci/steps.sh')}\ncd ${dir}\n${lines}\n`)
  const { status, stdout } = spawnSync('bash', [file], { encoding: 'utf8' })
  return { status, out: stdout.trimEnd().split('\n') }
}

/** A step that prints a line, waits until a file exists, and prints another. */
const MEET = `meet() {
  echo "$1 begins"; : >"$1.here"
  until [ -e "$2.here" ]; do sleep 0.02; done
  echo "$1 ends"
}`

t.test('ci steps: the last line counts assertions of tests, and one for each other step', async (t) => {
  const { status, out } = run(
    t.testdir(),
    `step tests echo '# { total: 7, pass: 5, skip: 2 }'
    step build true
    report`,
  )
  t.equal(status, 0)
  t.equal(out.at(-1), '6 passed, 0 failed, 2 skipped')
  t.same(out.slice(0, 3), ['== tests', '# { total: 7, pass: 5, skip: 2 }', '== build'])
  t.match(out.at(-3), /^ok tests \(\d+ s\)$/)
  t.match(out.at(-2), /^ok build \(\d+ s\)$/)
})

t.test('ci steps: a step that fails is named, in a lane and outside', async (t) => {
  const { status, out } = run(
    t.testdir(),
    `tap() { printf 'ok 1\\nnot ok 2 - the reason\\n# { total: 2, pass: 1, fail: 1 }\\n'; return 1; }
    ended() { echo '# { total: 1, pass: 1 }'; return 9; }
    first() { step tests tap; step after true; }
    second() { step broken false; }
    together first second
    step ended ended
    report`,
  )
  t.not(status, 0)
  t.ok(out.includes('tests: failed at line 2:not ok 2 - the reason'))
  t.ok(out.includes('broken: failed'))
  for (const line of [/^FAILED tests \(/, /^ok after \(/, /^FAILED broken \(/, /^FAILED ended \(/])
    t.equal(out.filter((each) => line.test(each)).length, 1, String(line))
  t.equal(out.at(-1), '3 passed, 3 failed, 0 skipped', 'a program that fails after its tests counts, too')
})

t.test('ci steps: lanes run beside each other, and each log is printed whole', async (t) => {
  const { status, out } = run(
    t.testdir(),
    `${MEET}
    first() { step a meet a b; step c echo c; }
    second() { step b meet b a; }
    together first second
    report`,
  )
  t.equal(status, 0)
  for (const name of ['a', 'b']) {
    const at = out.indexOf(`== ${name}`)
    t.same(out.slice(at, at + 3), [`== ${name}`, `${name} begins`, `${name} ends`])
    t.ok(out.indexOf(`== ${name} begins`) < at)
  }
  t.ok(out.indexOf('== c') > out.indexOf('== a'), 'steps of a lane follow each other')
  t.equal(out.at(-1), '3 passed, 0 failed, 0 skipped')
})

t.test('ci steps: a lane that is killed fails the run', async (t) => {
  const { status, out } = run(
    t.testdir(),
    `end() { kill -9 "$BASHPID"; }
    first() { step before true; end; step never true; }
    second() { step other true; }
    together first second
    step last true
    report`,
  )
  t.not(status, 0)
  t.ok(out.includes('first, which did not come to its end: failed'))
  t.equal(out.at(-1), '3 passed, 1 failed, 0 skipped')
})

t.test(
  'ci steps: a step that hangs is ended with all that it started, and what it printed is shown',
  async (t) => {
    const dir = t.testdir()
    const { status, out } = run(
      dir,
      `hang() { echo asks; sleep 1000 & echo $! >pid; wait; }
    first() { limitS=0.2 step hanging hang; step after true; }
    together first
    limitS=0.2 step alone hang
    step last true
    report`,
    )
    t.not(status, 0)
    t.match(out.join('\n'), /== hanging\nasks\n/)
    t.match(out.join('\n'), /\nhanging: ended after \d+ s, its limit\nalone: ended after \d+ s, its limit\n/)
    t.equal(out.at(-1), '2 passed, 2 failed, 0 skipped')
    const pid = readFileSync(path.join(dir, 'pid'), 'utf8').trim()
    while (isRunning(pid)) await sleep(20)
    t.pass('what it started has ended')
  },
)

t.test('ci steps: a run that is ended ends its lanes', async (t) => {
  const dir = t.testdir()
  const { status } = run(
    dir,
    `${MEET}
    first() { step a bash -c 'echo $$ >pid; : >a.here; exec sleep 1000'; }
    second() { step b meet b a; kill -TERM $$; step c meet c never; }
    together first second`,
  )
  t.equal(status, 143)
  const pid = readFileSync(path.join(dir, 'pid'), 'utf8').trim()
  while (isRunning(pid)) await sleep(20)
  t.pass('the program of the first lane has ended')
})

/** False for a process that is gone or only waits for its parent. */
function isRunning(pid: string): boolean {
  const file = `/proc/${pid}/stat`
  return existsSync(file) && !/\) Z /.test(readFileSync(file, 'utf8'))
}
