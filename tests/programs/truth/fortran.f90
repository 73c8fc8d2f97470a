! SPDX-License-Identifier: GPL-3.0-or-later
! Fortran: subroutines, and one within another.
!
! truth: compiler gfortran
! truth: aside START main _gfortran_…? ([lib…|LIBC|LD|PLT)*
! truth: aside START main MAIN__ outer_? _gfortran_…? ([lib…|LIBC|LD|PLT)*
! truth: chain START main MAIN__ outer_ middle_ spin_
module work
  implicit none
  integer(8), volatile :: total = 0
end module

subroutine spin()
  use work
  implicit none
  integer :: i
  do i = 1, 10000
    total = total + i
  end do
end subroutine

subroutine middle()
  implicit none
  call spin()
  call spin()
end subroutine

subroutine outer(n)
  use work
  implicit none
  integer :: n
  real(8) :: room(n)
  room = 1
  call middle()
  total = total + int(room(n))
end subroutine

program known
  implicit none
  character(len=20) :: text
  integer :: rounds, i
  call get_command_argument(1, text)
  read (text, *) rounds
  do i = 1, rounds
    call outer(mod(i, 50) + 2)
  end do
end program
