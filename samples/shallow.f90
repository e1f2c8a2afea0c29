! SPDX-License-Identifier: BSD-3-Clause
!
! Waves on a rotating ocean: shallow-water equations on Arakawa's C grid, periodic in
! both directions, in steps that go forward for the height and backward for the
! velocities (Mesinger, Arakawa: Numerical Methods Used in Atmospheric Models, 1976).
! With eta the height above rest, u and v the velocities on the sides of its cells:
!
!     d eta / dt = - d(h u) / dx - d(h v) / dy,   h = depth + eta
!     d u / dt = + f v - g d eta / dx,   d v / dt = - f u - g d eta / dy
!
! Regions: eta, u, v and the fluxes fx, fy, each of (n + 2)^2 reals of 8 bytes, with a
! border that repeats the opposite side. Fortran lays arrays out by columns, so i is the
! inner loop: all sweeps are of unit stride, stencils of two to six points over three
! columns. `wrap` copies columns at unit stride and rows at one of 8 (n + 2) bytes. A
! cache that holds three columns misses once for each line of each array in each sweep.
module ocean
  implicit none
  integer, parameter :: real8 = selected_real_kind(15)
  real(real8), parameter :: depth = 100.0_real8, gravity = 9.81_real8, coriolis = 1.0e-4_real8
  real(real8), parameter :: width = 1000.0_real8, step = 10.0_real8

contains

  ! A round hill of water, 1 m high, at rest.
  subroutine start(n, eta, u, v)
    integer, intent(in) :: n
    real(real8), intent(out) :: eta(0:n+1, 0:n+1), u(0:n+1, 0:n+1), v(0:n+1, 0:n+1)
    integer :: i, j
    real(real8) :: x, y

    do j = 0, n + 1
      y = (j - 0.4_real8*n)/(0.1_real8*n)
      do i = 0, n + 1
        x = (i - 0.3_real8*n)/(0.1_real8*n)
        eta(i, j) = exp(-x*x - y*y)
        u(i, j) = 0
        v(i, j) = 0
      end do
    end do
  end subroutine start

  ! The border of a periodic field: rows first, then whole columns with the corners.
  subroutine wrap(n, field)
    integer, intent(in) :: n
    real(real8), intent(inout) :: field(0:n+1, 0:n+1)
    integer :: i, j

    do j = 1, n
      field(0, j) = field(n, j)
      field(n+1, j) = field(1, j)
    end do
    do i = 0, n + 1
      field(i, 0) = field(i, n)
      field(i, n+1) = field(i, 1)
    end do
  end subroutine wrap

  ! Water that flows through the left and the lower side of each cell.
  subroutine flow(n, eta, u, v, fx, fy)
    integer, intent(in) :: n
    real(real8), intent(in) :: eta(0:n+1, 0:n+1), u(0:n+1, 0:n+1), v(0:n+1, 0:n+1)
    real(real8), intent(out) :: fx(0:n+1, 0:n+1), fy(0:n+1, 0:n+1)
    integer :: i, j

    do j = 1, n + 1
      do i = 1, n + 1
        fx(i, j) = u(i, j)*(depth + 0.5_real8*(eta(i-1, j) + eta(i, j)))
        fy(i, j) = v(i, j)*(depth + 0.5_real8*(eta(i, j-1) + eta(i, j)))
      end do
    end do
  end subroutine flow

  subroutine raise(n, fx, fy, eta)
    integer, intent(in) :: n
    real(real8), intent(in) :: fx(0:n+1, 0:n+1), fy(0:n+1, 0:n+1)
    real(real8), intent(inout) :: eta(0:n+1, 0:n+1)
    integer :: i, j

    do j = 1, n
      do i = 1, n
        eta(i, j) = eta(i, j) - step/width*(fx(i+1, j) - fx(i, j) + fy(i, j+1) - fy(i, j))
      end do
    end do
  end subroutine raise

  subroutine push(n, eta, u, v)
    integer, intent(in) :: n
    real(real8), intent(in) :: eta(0:n+1, 0:n+1)
    real(real8), intent(inout) :: u(0:n+1, 0:n+1), v(0:n+1, 0:n+1)
    integer :: i, j

    do j = 1, n
      do i = 1, n
        u(i, j) = u(i, j) - gravity*step/width*(eta(i, j) - eta(i-1, j)) + 0.25_real8* &
            coriolis*step*(v(i-1, j) + v(i, j) + v(i-1, j+1) + v(i, j+1))
      end do
    end do
    call wrap(n, u)
    do j = 1, n
      do i = 1, n
        v(i, j) = v(i, j) - gravity*step/width*(eta(i, j) - eta(i, j-1)) - 0.25_real8* &
            coriolis*step*(u(i, j-1) + u(i+1, j-1) + u(i, j) + u(i+1, j))
      end do
    end do
    call wrap(n, v)
  end subroutine push

  ! Energy of a cell in the mean, which the scheme all but keeps.
  function energy(n, eta, u, v) result(mean)
    integer, intent(in) :: n
    real(real8), intent(in) :: eta(0:n+1, 0:n+1), u(0:n+1, 0:n+1), v(0:n+1, 0:n+1)
    real(real8) :: mean
    integer :: i, j

    mean = 0
    do j = 1, n
      do i = 1, n
        mean = mean + gravity*eta(i, j)**2 + (depth + eta(i, j))*(u(i, j)**2 + v(i, j)**2)
      end do
    end do
    mean = 0.5_real8*mean/(real(n, real8)*n)
  end function energy

  ! Argument `which`, or what is there already; anything wrong ends with the usage and status 2.
  subroutine argument(which, least, most, number)
    integer, intent(in) :: which, least, most
    integer, intent(inout) :: number
    character(16) :: text
    integer :: length

    if (command_argument_count() >= which) then
      call get_command_argument(which, text, length)
      number = -1
      if (length > 0 .and. length < 10 .and. verify(text(1:length), '0123456789') == 0) &
          read (text, *) number
    end if
    if (number < least .or. number > most .or. command_argument_count() > 2) then
      write (0, '(a)') 'usage: shallow [SIZE [ITERATIONS]]', &
          'SIZE is the number of cells along an edge, from 4 to 16384'
      stop 2, quiet = .true.
    end if
  end subroutine argument

end module ocean

program shallow
  use ocean
  implicit none
  real(real8), allocatable :: eta(:, :), u(:, :), v(:, :), fx(:, :), fy(:, :)
  integer :: n = 1000, steps = 10, k
  character(32) :: result

  call argument(1, 4, 16384, n)
  call argument(2, 1, 1000000000, steps)
  allocate (eta(0:n+1, 0:n+1))
  allocate (u(0:n+1, 0:n+1))
  allocate (v(0:n+1, 0:n+1))
  allocate (fx(0:n+1, 0:n+1))
  allocate (fy(0:n+1, 0:n+1))
  call start(n, eta, u, v)
  call wrap(n, eta)
  do k = 1, steps
    call flow(n, eta, u, v, fx, fy)
    call raise(n, fx, fy, eta)
    call wrap(n, eta)
    call push(n, eta, u, v)
  end do
  write (result, '(es14.6)') energy(n, eta, u, v)
  k = index(result, 'E')
  print '(a, i0, a, i0, 4a)', 'shallow ', n, ' ', steps, ' checksum ', &
      trim(adjustl(result(:k-1))), 'e', trim(result(k+1:))
end program shallow
