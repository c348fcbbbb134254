import t from 'tap'
import { isWithinWindows } from '../../src/sync/windows.js'

t.test('windows: local time, over midnight, the whole day', async (t) => {
  const at = (time: string) => Date.parse(`2027-01-01T${time}:00Z`) * 1000
  const night = ['22:00-05:30']
  t.same(
    ['21:59', '22:00', '00:00', '05:29', '05:30'].map((time) => isWithinWindows(night, at(time), 0)),
    [false, true, true, true, false],
  )
  t.equal(isWithinWindows(night, at('13:00'), 540), true, '22:00 in Japan')
  t.equal(isWithinWindows([], at('12:00'), 0), true)
  t.equal(isWithinWindows(['00:00-00:00'], at('12:00'), 0), true)
  t.equal(isWithinWindows(['01:00-02:00', '11:00-13:00'], at('12:00'), 0), true)
})
