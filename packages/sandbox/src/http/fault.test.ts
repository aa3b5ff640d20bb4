import { expect, test } from 'vitest';

import { faultNames, parseFault, planFaults } from './fault.ts';

test('every name is read back from its form on a command line', () => {
  for (const name of faultNames) expect(parseFault(`${name}@7`)).toEqual({ name, at: 7 });
  expect(parseFault(' hang@5x2 ')).toEqual({ name: 'hang', at: 5, times: 2 });
});

test.each(['', 'cut', 'cut@', 'cut@0', 'cut@x2', 'cut@3x0', 'cut@-1', 'cut@1.5', 'cut@3x2x2', 'cut 3'])(
  '%j is refused with the form and the names',
  (text) => {
    expect(() => parseFault(text)).toThrow(/cut@3 or hang@5x2.*429, 503, html.*clock-skew/u);
  },
);

test('an unknown name is named, with the known ones', () => {
  expect(() => parseFault('explode@3')).toThrow(/"explode" in "explode@3".*cursor-loop/u);
});

test('a fault is applied to its requests and no others; the first listed wins', () => {
  const plan = planFaults([parseFault('cut@3'), parseFault('hang@2x3'), { name: 'clock-skew', at: 6 }]);
  expect([1, 2, 3, 4, 5, 6, 1_000_000].map((number) => plan(number)?.name)).toEqual([
    undefined,
    'hang',
    'cut',
    'hang',
    undefined,
    'clock-skew',
    'clock-skew',
  ]);
});

test('places that cannot be and names a service has not are refused', () => {
  expect(() => planFaults([{ name: 'cut', at: 0 }])).toThrow('at of the fault cut is 0');
  expect(() => planFaults([{ name: 'cut', at: 1, times: 0 }])).toThrow('times of the fault cut is 0');
  expect(() => planFaults([{ name: 'cursor-loop', at: 1 }], ['cursor-loop'])).toThrow("isn't available for this service");
});
